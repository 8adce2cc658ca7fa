import {
  CLIENT_CONTROL_API,
  type DisconnectMethod,
  PREVIEW_DISCONNECT,
} from '../../../protocol/apis/clients/client-control.ts';
import { clientIdOf } from '../../../protocol/apis/clients/client-key.ts';
import { INSPECT_API } from '../../../protocol/apis/clients/inspect-control.ts';
import { type CapabilityReason, reasonOf } from '../../../protocol/control/capability-reason.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import {
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
  type PluginHost,
} from '../../../protocol/control/plugin.ts';
import type { SessionAction } from '../../../protocol/mqtt/broker-session.ts';
import { followedClient, kickedSince, whenEnded } from '../inspect/followed-account.ts';
import { kickAccount, kickObstacle } from './account-kick.ts';
import { type AccountPeers, peersOf } from './account-peers.ts';
import { type Consent, consentOf, readSubscribe, readUnsubscribe } from './client-control-fields.ts';
import {
  notConnected,
  notPersistent,
  ownConnection,
  sendsWill,
  sharedAccount,
  stillConnected,
  withoutTakeover,
} from './client-control-refusals.ts';
import { SessionTakeovers } from './session-takeover.ts';

/**
 * `cedalo/client-control` for plain Mosquitto, which can end all connections of an account, but not the connection of
 * one client id.
 *
 * `disconnectClient` takes the first of these actions that is allowed:
 *
 *   1. Disconnects the account of the client, if no clients except those in `among` are connected with it
 *      (account-peers.ts). A client that connects with it meanwhile is disconnected, too. The account of this service
 *      is never disconnected.
 *   2. With `takeover`, takes over the session of the client (src/protocol/mqtt/take-over.ts), if it is persistent. The
 *      session and its queue remain, and no will is sent. With `force` also takes over a clean session: this ends the
 *      session, and the broker sends its will; with `discardWill` it is refused instead (NOT_SUPPORTED_BY_BROKER).
 *   3. With `force`, disconnects the account with all its clients.
 *   4. Refuses: NOT_SUPPORTED_BY_BROKER if even `force` would not help, IN_USE with the `info` of `sharedAccount`.
 *
 * PREVIEW_DISCONNECT returns the action that would be taken now, and takes none. The result is returned when the list
 * of clients shows the effect, or END_MS later. `disconnected` contains all clients that were known to be connected
 * with the account, and all whose disconnect was logged.
 *
 * `subscribeClient` and `unsubscribeClient` require `takeover` and a persistent session, connected or not. The broker
 * checks the permission of this service's user to subscribe, and later the client's own: when Mosquitto disconnects the
 * account, it drops subscriptions that the client itself may not make.
 */
export const clientControlPlugin: PluginFactory = {
  api: CLIENT_CONTROL_API,
  async create(host) {
    const { session, controls } = host;
    if (!session.takeOver || !controls) return { unavailable: NO_TAKEOVER };
    const inspect = await controls.capability(INSPECT_API);
    if (inspect.provider === 'GATEWAY') {
      const plugin = new ClientControl(host, controls);
      await plugin.updateLimit();
      return plugin;
    }
    return { unavailable: reasonOf(inspect) ?? CLIENTS_UNKNOWN, mayPass: true };
  },
};

const END_MS = 1_000;

const NO_TAKEOVER: CapabilityReason = {
  code: 'NO_TAKEOVER',
  text: 'This service cannot take over sessions of the broker',
};
const CLIENTS_UNKNOWN: CapabilityReason = {
  code: 'CLIENTS_UNKNOWN',
  text: 'The broker does not allow this service to follow its clients',
};

type Controls = NonNullable<PluginHost['controls']>;

const ONLY_TAKEOVER =
  'Clients of this broker can be disconnected only by taking over their sessions, if its settings allow that (`allowsClientTakeover`).';

const MAX_ATTEMPTS = 3;

interface Outcome {
  readonly method: DisconnectMethod;
  readonly disconnected: readonly string[];
}

class ClientControl implements ControlPlugin {
  readonly api = CLIENT_CONTROL_API;
  readonly #host: PluginHost;
  readonly #controls: Controls;
  readonly #takeovers: SessionTakeovers;
  #limit: CapabilityReason | null = null;

  constructor(host: PluginHost, controls: Controls) {
    this.#host = host;
    this.#controls = controls;
    this.#takeovers = new SessionTakeovers(host, END_MS);
  }

  /** Without dynamic security, accounts cannot be disconnected. */
  get limit(): CapabilityReason | null {
    return this.#limit;
  }

  async lookAgain(): Promise<void> {
    // After a lost connection, the plugin is asked again.
    await this.updateLimit().catch(() => undefined);
  }

  async updateLimit(): Promise<void> {
    const { provider, reason } = await this.#controls.capability('dynamic-security');
    const text = `${ONLY_TAKEOVER} ${reason ?? ''}`.trimEnd();
    this.#limit = provider === 'NONE' ? { code: 'ONLY_TAKEOVER', text } : null;
  }

  execute({ command, ...fields }: ControlCommand): unknown {
    switch (command.toLowerCase()) {
      case 'disconnectclient':
        return this.#disconnect(clientIdOf(fields), consentOf(fields));
      case PREVIEW_DISCONNECT.toLowerCase():
        return this.#preview(clientIdOf(fields), consentOf(fields));
      case 'subscribeclient':
        return this.#change(clientIdOf(fields), readSubscribe(fields), fields.takeover === true);
      case 'unsubscribeclient':
        return this.#change(clientIdOf(fields), readUnsubscribe(fields), fields.takeover === true);
      default:
        throw new ControlRefusal('Unknown command');
    }
  }

  /** The plugin has no state between commands; running commands end with the connection. */
  close(): void {}

  async #disconnect(clientid: string, consent: Consent): Promise<Outcome> {
    if (this.#isOwn(clientid)) throw ownConnection(clientid);
    const disconnected = new Set<string>();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { method, peers } = await this.#decide(clientid, consent);
      if (method === 'TAKEOVER') {
        await this.#takeovers.run(clientid, peers.client.connection, { kind: 'DISCONNECT' });
        return { method, disconnected: [...disconnected.add(clientid)] };
      }
      if (await this.#kick(clientid, peers, disconnected)) return { method, disconnected: [...disconnected] };
    }
    throw stillConnected(clientid, [...disconnected]);
  }

  async #preview(clientid: string, consent: Consent): Promise<Outcome> {
    if (this.#isOwn(clientid)) throw ownConnection(clientid);
    const { method, peers } = await this.#decide(clientid, consent);
    return { method, disconnected: method === 'ACCOUNT' ? peers.client.connectedIds : [clientid] };
  }

  async #decide(
    clientid: string,
    consent: Consent,
  ): Promise<{ readonly method: DisconnectMethod; readonly peers: AccountPeers }> {
    const { force, takeover, discardWill, among } = consent;
    const peers = await peersOf(this.#controls, clientid);
    if (peers === null) throw new ControlRefusal('Client not found');
    const { client, others, isComplete } = peers;
    if (!client.connected) throw notConnected(clientid);
    const obstacle = await kickObstacle(this.#controls, client);
    const canKick = client.isOwn === false && obstacle === null;
    const isAlone = others.every((id) => among.has(id)) && isComplete && !client.isAmbiguous;
    if (canKick && isAlone) return { method: 'ACCOUNT', peers };
    if (takeover && (client.clean === false || force)) {
      if (client.clean !== false && discardWill) throw sendsWill(clientid);
      return { method: 'TAKEOVER', peers };
    }
    if (obstacle !== null && !takeover) throw obstacle;
    if (canKick && force) return { method: 'ACCOUNT', peers };
    throw sharedAccount(peers, consent, canKick);
  }

  /** Adds the disconnected clients. Returns `false` if the client had reconnected with another account before. */
  async #kick(clientid: string, { client }: AccountPeers, disconnected: Set<string>): Promise<boolean> {
    const { connection, connectedIds } = client;
    await kickAccount(this.#controls, client.username);
    await whenEnded(this.#controls, { clientid, connection }, END_MS);
    const kicked = await kickedSince(this.#controls, client);
    const now = await followedClient(this.#controls, clientid);
    if (now?.connected && now.connection === connection) {
      const others = new Set([...connectedIds, ...kicked]);
      others.delete(clientid);
      throw stillConnected(clientid, [...others]);
    }
    for (const id of [...connectedIds, ...kicked]) disconnected.add(id);
    return !now?.connected || kicked.includes(clientid);
  }

  async #change(clientid: string, action: SessionAction, takeover: boolean): Promise<Record<string, never>> {
    if (this.#isOwn(clientid)) throw ownConnection(clientid);
    const client = await followedClient(this.#controls, clientid);
    if (client === null) throw new ControlRefusal('Client not found');
    if (!takeover) throw withoutTakeover();
    if (client.clean !== false) throw notPersistent(clientid, false);
    const { sessionPresent } = await this.#takeovers.run(clientid, client.connection, action);
    if (!sessionPresent) throw notPersistent(clientid, true);
    return {};
  }

  /** Further connections of this service have ids that begin with the id of the first one. */
  #isOwn(clientid: string): boolean {
    const { clientId } = this.#host.session;
    return clientid === clientId || clientid.startsWith(`${clientId}-`);
  }
}
