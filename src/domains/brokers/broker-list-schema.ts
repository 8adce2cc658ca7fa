import type { Services } from '../../gateway/context.ts';
import { builder } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { pageCost } from '../../gateway/graphql/page-cost.ts';
import { orderInput } from '../../gateway/graphql/sort-order.ts';
import { totalCount } from '../../gateway/graphql/total-count.ts';
import { pageOf } from '../../platform/paging.ts';
import { Project } from '../projects/project-schema.ts';
import { type BrokerFacts, type BrokerSortField, brokerPage } from './broker-list.ts';
import { Broker } from './broker-schema.ts';
import { BrokerType } from './broker-types-schema.ts';

const BrokerFilter = builder.inputType('BrokerFilter', {
  description: 'Brokers that match all given conditions.',
  fields: (t) => ({
    search: t.string({ description: 'Part of the name or the description, in any case.' }),
    isConnected: t.boolean({ description: 'Only brokers to which this service is connected, or only the others.' }),
    type: t.field({ description: 'Only brokers that run there.', type: BrokerType }),
    isCluster: t.boolean({ description: 'Only entries that represent a cluster, or only the others.' }),
    hasProblems: t.boolean({
      description: 'Only brokers with open problems to which no silence applies, or only the others.',
    }),
  }),
});

const BrokerOrder = orderInput(
  'BrokerOrder',
  describedEnum<BrokerSortField>(
    'BrokerSortField',
    'Sort field of a list of brokers. Brokers with equal values are in the order of creation.',
    {
      CREATED_AT: 'Time of creation.',
      NAME: 'Name, in any case (UTF-16 code units).',
      IS_CONNECTED: 'Whether this service is connected. Ascending: brokers that are not, first.',
      PROBLEMS:
        'Open problems to which no silence applies: numbers of critical ones, then of warnings, then of notices. Descending: the most urgent first.',
      CLIENTS: 'Connected clients, as the broker last published. Unknown numbers are last.',
      MESSAGES_IN: 'Messages that clients publish, per second. Unknown numbers are last.',
    },
  ),
);

/** Filtering and sorting 10,000 brokers takes about 10 ms. */
const SEARCH_COST = 10;

const factsOf = ({ runtimes, metrics, problems }: Services): BrokerFacts => ({
  isConnected: ({ id }) => runtimes.isConnected(id),
  problems: (broker) => problems.countsOfBroker(broker),
  clients: ({ id }) => metrics.last(id)?.clients.connected ?? null,
  messagesIn: ({ id }) => metrics.last(id)?.rates.publishReceivedPerSecond ?? null,
});

builder.prismaObjectFields(Project, (t) => ({
  brokers: t.connection(
    {
      description: 'The brokers of the project.',
      type: Broker,
      complexity: (args) => ({
        ...pageCost(args),
        field: args.filter == null && args.orderBy == null ? 1 : SEARCH_COST,
      }),
      args: {
        filter: t.arg({ type: BrokerFilter, description: 'Default: all brokers.' }),
        orderBy: t.arg({ type: BrokerOrder, description: 'Default: in the order of creation.' }),
        offset: t.arg.int({ description: 'Number of brokers to skip.' }),
      },
      resolve: ({ id }, args, { services, viewer }) =>
        brokerPage(services.brokers.visibleIn(id, viewer), args, factsOf(services)),
    },
    {
      name: 'BrokerConnection',
      description: pageOf('brokers'),
      fields: (page) =>
        totalCount(page, 'Number of brokers of the filtered list that the caller may see, on all pages.'),
    },
    { name: 'BrokerEdge' },
  ),
}));
