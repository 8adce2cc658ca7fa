/** Brokers with addresses of this machine and texts for other protocols. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { graphql } from '../http-tools.ts';
import type { Group, Target } from '../input.ts';
import { times } from './texts.ts';

const ADD = 'mutation ($i: AddBrokerInput!) { addBroker(input: $i) { broker { id } } }';
/** Longer than the service needs for the first connection to a broker. */
const WAIT_MS = 1_000;

/** Adds brokers at a listener of this machine. The result is the last refusal and the number of connections. */
const insideBrokers =
  (count: number, repeats: number) =>
  async (target: Target, run: number): Promise<string> => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const lines = '\r\nCONFIG SET dir /tmp\r\nFLUSHALL\r\n'.repeat(repeats);
    const results = times(count, (i) => {
      const host = `${['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433'][i % 4]}:${port}`;
      const url = i % 2 === 0 ? `mqtt://${host}` : `ws://${host}/${'path/'.repeat(repeats)}`;
      const names = i % 3 === 0 ? { username: lines, password: lines } : {};
      return graphql(
        target,
        ADD,
        { i: { projectId: target.projectId, name: `inside-${run}-${i}`, url, ...names } },
        target.projectAdmin,
      );
    });
    const last = (await Promise.all(results)).at(-1);
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    server.close();
    return `${last}, ${connections} connections`;
  };

export const projectAdmin: Group = {
  who: 'project ADMIN',
  inputs: [
    { name: 'inside-brokers', what: '10 brokers at addresses of this machine', attack: insideBrokers(10, 10) },
    {
      name: 'inside-brokers-tenfold',
      what: '100 brokers at addresses of this machine, with texts ten times as long',
      attack: insideBrokers(100, 100),
    },
  ],
};
