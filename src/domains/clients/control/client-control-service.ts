import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import type { ControlProvider } from '../../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClientService } from '../client-service.ts';
import type { ClientView } from '../client-view.ts';
import type { OwnConnections } from '../own-connections.ts';
import { carriedOut, type DisconnectResult, foreseen, notConnected } from './bulk-disconnect.ts';
import { type BulkSelection, refuseTooMany, selectionIssues, selectionOf } from './bulk-selection.ts';
import {
  CLIENT_CONTROL_API,
  type DisconnectMethod,
  disconnectClient,
  type SendRetain,
  subscribeClient,
  unsubscribeClient,
} from './client-control.ts';
import { clientIdIssues, refuseIssues, subscriptionIssues, topicIssues } from './client-input.ts';
import { planByAccount, planSingly } from './disconnect-plan.ts';
import { onceAgrees } from './observed-client.ts';

export interface DisconnectInput {
  readonly clientId: string;
  readonly force?: boolean | null | undefined;
}

export interface SubscribeInput {
  readonly clientId: string;
  readonly topic: string;
  readonly qos: number;
  readonly noLocal?: boolean | null | undefined;
  readonly retainAsPublished?: boolean | null | undefined;
  readonly sendRetain?: SendRetain | null | undefined;
  readonly subscriptionIdentifier?: number | null | undefined;
}

export interface UnsubscribeInput {
  readonly clientId: string;
  readonly topic: string;
}

export interface BulkDisconnectInput extends BulkSelection {
  /** Others on the accounts of the selected clients may be disconnected too. */
  readonly force?: boolean | null | undefined;
  /** Send nothing, and tell what would be sent. */
  readonly dryRun?: boolean | null | undefined;
}

/** Something that the broker has done to a client. */
export interface ClientReport {
  readonly broker: BrokerRecord;
  readonly clientId: string;
  /** The client as it is after that; null: there is none. Errors: of a broker that cannot be asked who is connected. */
  readonly readClient: () => Promise<ClientView | null>;
}

export interface DisconnectReport extends ClientReport {
  readonly method: DisconnectMethod;
  /** Client ids of all that were disconnected. */
  readonly disconnected: readonly string[];
}

export interface BulkDisconnectReport {
  readonly broker: BrokerRecord;
  /** In the order of the ids that were given, else in that of client ids. */
  readonly results: readonly DisconnectResult[];
  readonly alsoDisconnected: readonly string[];
  /** False: clients that match may be connected that nobody can tell of. */
  readonly isComplete: boolean;
}

interface BrokerControl {
  readonly runtime: BrokerRuntime;
  readonly provider: ControlProvider;
}

/**
 * What an administrator does to single clients of brokers. Input is checked before anything is sent, connections of this service
 * itself are left alone (IN_USE), and only a plugin of ours is told of `force` and of consent to take a session over.
 */
export class ClientControlService {
  readonly #runtimes: BrokerRuntimes;
  readonly #clients: ClientService;
  readonly #own: OwnConnections;

  constructor(parts: {
    readonly runtimes: BrokerRuntimes;
    readonly clients: ClientService;
    readonly own: OwnConnections;
  }) {
    this.#runtimes = parts.runtimes;
    this.#clients = parts.clients;
    this.#own = parts.own;
  }

  /** Errors: INVALID, those of `disconnectClient`, and of a broker that cannot be asked. */
  async disconnect(broker: BrokerRecord, { clientId, force }: DisconnectInput): Promise<DisconnectReport> {
    refuseIssues(clientIdIssues('input.clientId', clientId));
    this.#own.refuse(clientId);
    const { runtime, provider } = await this.#control(broker);
    const isHosted = provider === 'GATEWAY';
    // Who follows a log sees the end of a connection later than it is answered; where the broker tells, it tells what is so.
    const before = isHosted ? await this.#clients.find(broker, clientId).catch(() => null) : null;
    const consent = isHosted ? { force: force ?? false, takeover: broker.clientTakeover } : {};
    const whenKnown = this.#clients.expectEnds(broker, [clientId]);
    const { method, clientids } = await disconnectClient(runtime.controls, { clientid: clientId, ...consent });
    await whenKnown([clientId]);
    const readClient = () =>
      onceAgrees(
        () => this.#clients.find(broker, clientId),
        (client) => before === null || !isSameConnection(client, before),
      );
    return { broker, clientId, method, disconnected: clientids, readClient };
  }

  /** Errors: INVALID, those of `subscribeClient`, and of a broker that cannot be asked. */
  async subscribe(broker: BrokerRecord, input: SubscribeInput): Promise<ClientReport> {
    const { clientId, topic, qos, noLocal, retainAsPublished, sendRetain, subscriptionIdentifier } = input;
    refuseIssues([...targetIssues(input), ...subscriptionIssues(input)]);
    this.#own.refuse(clientId);
    const { runtime, provider } = await this.#control(broker);
    const options = {
      ...(noLocal == null ? {} : { no_local: noLocal }),
      ...(retainAsPublished == null ? {} : { retain_as_published: retainAsPublished }),
      ...(sendRetain == null ? {} : { send_retain: sendRetain }),
    };
    await subscribeClient(runtime.controls, {
      clientid: clientId,
      topic,
      qos: qos as 0 | 1 | 2,
      ...(subscriptionIdentifier == null ? {} : { subscription_identifier: subscriptionIdentifier }),
      ...(Object.keys(options).length === 0 ? {} : { options }),
      ...consentOf(broker, provider),
    });
    return this.#report(broker, clientId, ({ subscriptions }) => subscriptions?.includes(topic) !== false);
  }

  /** Errors: INVALID, those of `unsubscribeClient`, and of a broker that cannot be asked. */
  async unsubscribe(broker: BrokerRecord, input: UnsubscribeInput): Promise<ClientReport> {
    const { clientId, topic } = input;
    refuseIssues(targetIssues(input));
    this.#own.refuse(clientId);
    const { runtime, provider } = await this.#control(broker);
    await unsubscribeClient(runtime.controls, { clientid: clientId, topic, ...consentOf(broker, provider) });
    return this.#report(broker, clientId, ({ subscriptions }) => subscriptions?.includes(topic) !== true);
  }

  /**
   * Disconnects the clients that are selected. Errors: INVALID (nothing is selected, or more than the limit), and those of a broker
   * that cannot be asked; what becomes of each client is its result's.
   */
  async disconnectMany(broker: BrokerRecord, input: BulkDisconnectInput): Promise<BulkDisconnectReport> {
    refuseIssues(selectionIssues(input));
    const { filter, force, dryRun } = input;
    const { runtime, provider } = await this.#control(broker);
    const matching = filter == null ? null : await this.#clients.connected(broker, filter);
    const { clientIds, unmatched } = selectionOf(input, matching);
    refuseTooMany(clientIds.length, input);

    const isDryRun = dryRun === true;
    const isHosted = provider === 'GATEWAY';
    const isOwn = (clientId: string) => this.#own.has(clientId);
    const connected = isHosted || isDryRun ? await this.#clients.connected(broker) : NOBODY;
    const consent = { force: force ?? false, takeover: broker.clientTakeover };
    const plan = isHosted
      ? planByAccount(clientIds, { connected: connected.clients, isOwn, ...consent })
      : planSingly(clientIds, isOwn);
    const whenKnown = this.#clients.expectEnds(broker, isDryRun ? [] : clientIds);
    const { results, alsoDisconnected } =
      isDryRun && !isHosted ? foreseen(plan, connected) : await carriedOut(runtime.controls, plan, isDryRun);
    await whenKnown(clientIds.filter((id) => results.get(id)?.status === 'DISCONNECTED'));
    for (const clientId of unmatched) results.set(clientId, notConnected(clientId));
    const order = input.clientIds == null ? clientIds : new Set(input.clientIds);
    return {
      broker,
      results: Array.from(order, (id) => results.get(id)).filter((result) => result !== undefined),
      alsoDisconnected,
      isComplete: matching?.isComplete ?? true,
    };
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER where nobody controls clients, and those of a broker that cannot be asked. */
  async #control(broker: BrokerRecord): Promise<BrokerControl> {
    return this.#runtimes.ask(broker, async (runtime) => {
      const { provider, reason } = await runtime.controls.capability(CLIENT_CONTROL_API);
      if (provider !== 'NONE') return { runtime, provider };
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason ?? `Nobody serves ${CLIENT_CONTROL_API}`, {
        info: { api: CLIENT_CONTROL_API, reason },
      });
    });
  }

  #report(broker: BrokerRecord, clientId: string, agrees: (known: ClientView['known']) => boolean): ClientReport {
    const look = () => this.#clients.find(broker, clientId);
    return {
      broker,
      clientId,
      readClient: () => onceAgrees(look, (client) => client === null || agrees(client.known)),
    };
  }
}

/** Where nobody has to be known. */
const NOBODY = { clients: [], isComplete: false };

/** What only a plugin of ours is told. */
const consentOf = ({ clientTakeover }: BrokerRecord, provider: ControlProvider): { readonly takeover?: boolean } =>
  provider === 'GATEWAY' ? { takeover: clientTakeover } : {};

const targetIssues = ({ clientId, topic }: UnsubscribeInput): InputIssue[] => [
  ...clientIdIssues('input.clientId', clientId),
  ...topicIssues('input.topic', topic),
];

function isSameConnection(client: ClientView | null, { known: before }: ClientView): boolean {
  if (client === null || client.known.connected === false) return false;
  return client.known.lastConnect === before.lastConnect && client.known.remotePort === before.remotePort;
}
