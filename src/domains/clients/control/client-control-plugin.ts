import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import {
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
  type PluginHost,
} from '../../../protocol/control/plugin.ts';
import { followedClient, kickedSince, whenEnded } from '../inspect/followed-account.ts';
import { INSPECT_API } from '../inspect/inspect-control.ts';
import { type AccountCompany, companyOf } from './account-company.ts';
import { kickAccount, kickObstacle } from './account-kick.ts';
import { CLIENT_CONTROL_API, type DisconnectMethod, FORESEE } from './client-control.ts';
import { type Consent, clientIdOf, consentOf, readSubscribe, readUnsubscribe } from './client-control-fields.ts';
import {
  notConnected,
  notPersistent,
  ownConnection,
  sharedAccount,
  stillConnected,
  withoutTakeover,
} from './client-control-refusals.ts';
import { SessionTakeovers } from './session-takeover.ts';

/**
 * `cedalo/client-control` for plain Mosquitto, which can end all connections of an account but none by its client id.
 *
 * `disconnectClient` does the first of these that it may; sessions of MQTT 3.1.1 clients are persistent if they did not ask for a
 * clean one, and the list of clients knows it:
 *
 *   1. Disconnects the account of the client, if nobody else is connected with it (account-company.ts says how that is known) but
 *      those of `among`. Whoever comes with it in that moment is disconnected, too. Never the account of this service, which would
 *      cut itself off.
 *   2. With `takeover`, takes the session of the client over for a moment (src/protocol/mqtt/take-over.ts), if it is persistent: nobody
 *      else is touched, the session and its queue stay, no will is sent. With `force` also a clean session: that ends it, and the
 *      broker sends its will.
 *   3. With `force`, disconnects the account with everybody else.
 *   4. Refuses: NOT_SUPPORTED_BY_BROKER where even `force` could not do it, IN_USE with `info` as `sharedAccount` says.
 *
 * FORESEE answers what these come to as things are, and does nothing.
 *
 * Answers `{ method, disconnected }` when the broker has answered and the list of clients knows it too, or END_MS later.
 * `disconnected` are all who were known to be connected with the account, and all whose end was told. A client that was replaced
 * meanwhile by a connection with another account is looked at again.
 *
 * `subscribeClient` and `unsubscribeClient` need `takeover` and a persistent session, connected or not. The broker asks for our right
 * to subscribe then, and for the client's own right later on: Mosquitto drops a subscription that the client may not make when
 * it disconnects the account.
 */
export const clientControlPlugin: PluginFactory = {
  api: CLIENT_CONTROL_API,
  async create(host) {
    const { session, controls } = host;
    if (!session.takeOver || !controls) return { unavailable: 'The broker has no way to reach single clients' };
    const { provider, reason } = await controls.capability(INSPECT_API);
    if (provider === 'GATEWAY') {
      const plugin = new ClientControl(host, controls);
      await plugin.look();
      return plugin;
    }
    return { unavailable: reason ?? 'The broker does not let this service follow its clients', mayPass: true };
  },
};

/** How long the log has to tell that a connection ended. */
const END_MS = 1_000;

type Controls = NonNullable<PluginHost['controls']>;

const ONLY_TAKEOVER =
  'Here clients are disconnected only by taking their sessions over, where the settings of this broker allow it (`clientTakeover`).';

/** How often a client is followed from account to account. */
const MAX_ROUNDS = 3;

interface Outcome {
  readonly method: DisconnectMethod;
  readonly disconnected: readonly string[];
}

interface Decision {
  readonly method: DisconnectMethod;
  readonly company: AccountCompany;
}

interface Attempt extends Outcome {
  /** False: another connection of the client was there before, which goes on. */
  readonly isDone: boolean;
}

class ClientControl implements ControlPlugin {
  readonly api = CLIENT_CONTROL_API;
  readonly #host: PluginHost;
  readonly #controls: Controls;
  readonly #takeovers: SessionTakeovers;
  #limit: string | null = null;

  constructor(host: PluginHost, controls: Controls) {
    this.#host = host;
    this.#controls = controls;
    this.#takeovers = new SessionTakeovers(host, END_MS);
  }

  /** Without dynamic security there are no accounts to be disconnected. */
  get limit(): string | null {
    return this.#limit;
  }

  async lookAgain(): Promise<void> {
    // A broker that has gone again is looked at when it is back.
    await this.look().catch(() => undefined);
  }

  /** Errors: of a broker that cannot be asked. */
  async look(): Promise<void> {
    const { provider, reason } = await this.#controls.capability('dynamic-security');
    this.#limit = provider === 'NONE' ? `${ONLY_TAKEOVER} ${reason ?? ''}`.trimEnd() : null;
  }

  execute({ command, ...fields }: ControlCommand): unknown {
    switch (command.toLowerCase()) {
      case 'disconnectclient':
        return this.#disconnect(clientIdOf(fields), consentOf(fields));
      case FORESEE.toLowerCase():
        return this.#foresee(clientIdOf(fields), consentOf(fields));
      case 'subscribeclient':
        return this.#change(clientIdOf(fields), readSubscribe(fields), fields.takeover === true);
      case 'unsubscribeclient':
        return this.#change(clientIdOf(fields), readUnsubscribe(fields), fields.takeover === true);
      default:
        throw new ControlRefusal('Unknown command');
    }
  }

  /** Nothing is held between commands; those under way end with the connection. */
  close(): void {}

  async #disconnect(clientid: string, consent: Consent): Promise<Outcome> {
    if (this.#isOwn(clientid)) throw ownConnection(clientid);
    const disconnected = new Set<string>();
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const { method, isDone, ...done } = await this.#disconnectNow(clientid, consent);
      for (const id of done.disconnected) disconnected.add(id);
      if (isDone) return { method, disconnected: [...disconnected] };
    }
    throw stillConnected(clientid, [...disconnected]);
  }

  async #foresee(clientid: string, consent: Consent): Promise<Outcome> {
    if (this.#isOwn(clientid)) throw ownConnection(clientid);
    const { method, company } = await this.#decide(clientid, consent);
    return { method, disconnected: method === 'ACCOUNT' ? company.client.connectedIds : [clientid] };
  }

  async #disconnectNow(clientid: string, consent: Consent): Promise<Attempt> {
    const { method, company } = await this.#decide(clientid, consent);
    if (method === 'ACCOUNT') return this.#kick(clientid, company);
    await this.#takeovers.run(clientid, company.client.connection, { kind: 'DISCONNECT' });
    return { method, disconnected: [clientid], isDone: true };
  }

  async #decide(clientid: string, consent: Consent): Promise<Decision> {
    const { force, takeover, among } = consent;
    const company = await companyOf(this.#controls, clientid);
    if (company === null) throw new ControlRefusal('Client not found');
    const { client, others, isComplete } = company;
    if (!client.connected) throw notConnected(clientid);
    const obstacle = await kickObstacle(this.#controls, client);
    const canKick = client.isOwn === false && obstacle === null;
    const isAlone = others.every((id) => among.has(id)) && isComplete && !client.isAmbiguous;
    if (canKick && isAlone) return { method: 'ACCOUNT', company };
    if (takeover && (client.clean === false || force)) return { method: 'TAKEOVER', company };
    if (obstacle !== null && !takeover) throw obstacle;
    if (canKick && force) return { method: 'ACCOUNT', company };
    throw sharedAccount(company, consent, canKick);
  }

  async #kick(clientid: string, { client }: AccountCompany): Promise<Attempt> {
    const { connection, connectedIds } = client;
    await kickAccount(this.#controls, client.username);
    await whenEnded(this.#controls, { clientid, connection }, END_MS);
    const kicked = await kickedSince(this.#controls, client);
    const disconnected = [...new Set([...connectedIds, ...kicked])];
    const now = await followedClient(this.#controls, clientid);
    if (now?.connected && now.connection === connection) {
      throw stillConnected(
        clientid,
        disconnected.filter((id) => id !== clientid),
      );
    }
    return { method: 'ACCOUNT', disconnected, isDone: !now?.connected || kicked.includes(clientid) };
  }

  async #change(
    clientid: string,
    action: ReturnType<typeof readSubscribe | typeof readUnsubscribe>,
    takeover: boolean,
  ): Promise<Record<string, never>> {
    if (this.#isOwn(clientid)) throw ownConnection(clientid);
    const client = await followedClient(this.#controls, clientid);
    if (client === null) throw new ControlRefusal('Client not found');
    if (!takeover) throw withoutTakeover();
    if (client.clean !== false) throw notPersistent(clientid, false);
    const { sessionPresent } = await this.#takeovers.run(clientid, client.connection, action);
    if (!sessionPresent) throw notPersistent(clientid, true);
    return {};
  }

  /** Its connections beside the first one have ids that begin with it. */
  #isOwn(clientid: string): boolean {
    const { clientId } = this.#host.session;
    return clientid === clientId || clientid.startsWith(`${clientId}-`);
  }
}
