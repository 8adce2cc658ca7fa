/**
 * The worker of the bridges with its own kind: each connection copies a topic to another one, in a persistent session,
 * and writes a file into its folder. The payload `end the thread` throws.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { bridgeInstances } from '../../../../src/data-plane/bridges/hosting/bridge-instances.ts';
import { serveInstances } from '../../../../src/protocol/hosting/serve-instances.ts';

serveInstances(bridgeInstances(async (options) => new CopyBridge(options)));

class CopyBridge {
  #options;
  #connections = new Map();
  #listeners = new Set();

  constructor(options) {
    this.#options = options;
  }

  async apply({ connections }) {
    const { brokerId, folder, local } = this.#options;
    if (connections.some(({ from }) => from === 'broken')) throw new Error('it is broken');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'user'), local.username ?? 'nobody');
    const wanted = new Map(connections.map((connection) => [connection.name, connection]));
    for (const [name, { config }] of this.#connections) {
      if (JSON.stringify(wanted.get(name)) !== JSON.stringify(config)) await this.#end(name, true);
    }
    for (const config of connections) {
      if (this.#connections.has(config.name)) continue;
      const state = config.active === false ? 'INACTIVE' : 'CONNECTING';
      const connection = { config, state, since: Date.now(), received: 0, client: null };
      this.#connections.set(config.name, connection);
      if (state === 'INACTIVE') continue;
      const { url, username, timeoutMs } = local;
      const clientId = `brokergraph-${brokerId}-bridge-${config.name}`;
      const client = mqtt.connect(url, { clientId, username, clean: false, connectTimeout: timeoutMs, keepalive: 0 });
      connection.client = client;
      client.handleMessage = ({ payload }, done) => {
        if (payload.toString() === 'end the thread') throw new Error('a bug');
        // A client that ends publishes nothing. Without an acknowledgement the broker sends the message again.
        if (client.disconnecting) return done(new Error('the connection ends'));
        connection.received += 1;
        client.publish(config.to, payload, { qos: 1 });
        this.#tell();
        done();
      };
      client.on('connect', () => {
        client.subscribe(config.from, { qos: 1 }, () => this.#set(connection, 'CONNECTED'));
      });
      client.on('close', () => !client.disconnecting && this.#set(connection, 'UNREACHABLE'));
      client.on('error', () => undefined);
    }
  }

  status() {
    return [...this.#connections.values()].map(({ config, state, since, received }) => ({
      connectionName: config.name,
      isConnected: state === 'CONNECTED',
      state,
      since,
      queuedMessages: 0,
      queuedBytes: 0,
      received,
      delivered: received,
      dropped: 0,
      rejected: 0,
    }));
  }

  onStatus(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close({ discard }) {
    this.#listeners.clear();
    for (const name of this.#connections.keys()) await this.#end(name, discard);
    if (discard) await rm(join(this.#options.folder, 'user'), { force: true });
  }

  #set(connection, state) {
    connection.state = state;
    connection.since = Date.now();
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }

  async #end(name, discard) {
    const { client } = this.#connections.get(name);
    this.#connections.delete(name);
    if (client === null) return;
    // A client that is not connected sends no DISCONNECT.
    await client.endAsync(!client.connected);
    if (!discard) return;
    const { url, username } = this.#options.local;
    const { clientId } = client.options;
    await (await mqtt.connectAsync(url, { clientId, username, clean: true })).endAsync();
  }
}
