/** Runs a bridge to PostgreSQL from the compiled sources until it is killed: `<options> <configuration>`, as JSON. A line for each status. */
import { startPostgresqlBridge } from '../../../../dist/domains/bridges/postgresql/postgresql-bridge.js';

const [options, config] = process.argv.slice(2).map((text) => JSON.parse(text));
const bridge = startPostgresqlBridge({
  ...options,
  onFault: (error) => {
    throw error;
  },
});
bridge.onStatus(() => console.log(JSON.stringify(bridge.status()[0])));
await bridge.apply(config);
