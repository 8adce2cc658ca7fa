import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import { User } from './user-schema.ts';

/** Fields of the documented REST interface. This service has no sales, so the values are constant and correct. */
builder.prismaObjectFields(User, (t) => {
  const zero = (description: string) =>
    t.float({ description: `${description} Always 0: this service has no sales.`, ...rootAdmin, resolve: () => 0 });
  return {
    trialFlow: t.boolean({
      description: 'Whether the user has a trial. Always false: this service has no sales.',
      ...rootAdmin,
      resolve: () => false,
    }),
    onboarding: zero('Completed steps of a purchase.'),
    monthlyRevenue: zero('Monthly payment of the user.'),
    yearlyRevenue: zero('Yearly payment of the user.'),
    totalRevenue: zero('Sum of all payments of the user.'),
    bookings: t.field({
      description: 'Bookings of the user. Always null: this service has no sales.',
      type: 'JSON',
      nullable: true,
      ...rootAdmin,
      resolve: () => null,
    }),
  };
});
