import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long although they are small: where vitest does not know how long files took, it begins with the largest. */
const LONG = [
  '/truth/',
  '/access-control/graph/graph.test',
  '/bridges/hosting/',
  '/mosquitto/certificates',
  '/mosquitto/left-over',
  '/access-control/policy/differential',
  '/access-control/rest.test',
  '/audit/chain',
  '/audit/killed',
  '/auth/ended-rights',
  '/auth/rights-matrix',
  '/bridges/mqtt/restarts',
  '/bridges/postgresql/postgresql-outage',
  '/brokers/broker-metrics-feed',
  '/certificates/commercial',
  '/cli/commands',
  '/clients/inspect/first-to-hear',
  '/clients/inspect/many-clients',
  '/clusters/failing-database',
  '/embedded/dynsec-hostile',
  '/embedded/dynsec-mosquitto',
  '/embedded/streams-durability',
  '/fuzz/mqtt/',
  '/graphql/executors',
  '/package/',
  '/readme',
  '/proxy/nginx',
  '/sign-in/oidc.test',
  '/storage/crash',
  '/streams/replay-subscription',
];

/** So that no long file is the last, beside a core that has nothing more to do. Those with a process of their own stay before all others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((name) => moduleId.includes(name));
    const place = (file: TestSpecification) => (file.project.config.isolate ? 0 : isLong(file) ? 1 : 2);
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
