/** Runs a compiled bridge to PostgreSQL until it is killed: `<options> <configuration>` as JSON. Prints statuses. */
import { startPostgresqlBridge } from '../../../../src/data-plane/bridges/postgresql/postgresql-bridge.ts';

const [options, config] = process.argv.slice(2).map((text) => JSON.parse(text));
const bridge = startPostgresqlBridge({
  ...options,
  onFault: (error) => {
    throw error;
  },
});
bridge.onStatus(() => console.log(JSON.stringify(bridge.status()[0])));
await bridge.apply(config);
