/** REST list of 50 brokers: the route of the product, minimal handlers of both kinds, and sofa-api. */
import { type Contender, measure, report } from './support/measure.ts';

const PROJECT = '/api/projects/prj_bench/brokers';
const PATHS = { graph: PROJECT, fetch: PROJECT, plain: PROJECT, sofa: '/api/brokers?projectId=prj_bench' } as const;

const contenders = Object.entries(PATHS).map(
  ([name, path]): Contender => ({
    name,
    module: new URL('./rest-servers.js', import.meta.url),
    load: { method: 'GET', path, headers: { authorization: 'Bearer bench', accept: 'application/json' } },
  }),
);

const figures = await measure(contenders);
const good = report('REST list of 50 brokers', figures, 'graph', { fetch: 0.85, plain: 0.6, sofa: 3.5 });
if (!good) process.exitCode = 1;
