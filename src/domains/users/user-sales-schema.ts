import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import { User } from './user-schema.ts';

/**
 * What a service that sells brokers tells of its customers. This one sells nothing: nobody tries it out for a while, is led through a
 * purchase, books or pays. So these are its true answers, the same for everybody, and not places that something is missing in.
 */
builder.prismaObjectFields(User, (t) => {
  const nothing = (description: string) =>
    t.float({ description: `${description} 0: this service sells nothing.`, ...rootAdmin, resolve: () => 0 });
  return {
    trialFlow: t.boolean({
      description: 'Tries the service out before paying. False: nobody pays for it.',
      ...rootAdmin,
      resolve: () => false,
    }),
    onboarding: nothing('Steps of a purchase that the person was led through.'),
    monthlyRevenue: nothing('What the person pays in a month.'),
    yearlyRevenue: nothing('What the person pays in a year.'),
    totalRevenue: nothing('What the person has paid.'),
    bookings: t.field({
      description: 'What the person has booked. Null: there is nothing to book.',
      type: 'JSON',
      nullable: true,
      ...rootAdmin,
      resolve: () => null,
    }),
  };
});
