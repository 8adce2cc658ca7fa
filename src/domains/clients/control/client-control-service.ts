import { setTimeout as pause } from 'node:timers/promises';
import { type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import { Backoff, type BackoffTimes } from '../../../platform/scheduling/backoff.ts';
import {
  CLIENT_CONTROL_API,
  type DisconnectClient,
  type DisconnectMethod,
  disconnectClient,
  type SendRetain,
  subscribeClient,
  unsubscribeClient,
} from '../../../protocol/apis/clients/client-control.ts';
import { notSupported } from '../../../protocol/control/capability-reason.ts';
import type { ControlProvider } from '../../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClientService } from '../client-service.ts';
import type { ClientView } from '../client-view.ts';
import { type OwnConnections, ownConnection } from '../own-connections.ts';
import { type DisconnectResult, notConnected, previewOf, runPlan } from './bulk-disconnect.ts';
import { type BulkSelection, refuseTooMany, selectionIssues, selectionOf } from './bulk-selection.ts';
import { clientIdIssues, subscriptionIssues, topicIssues, willField } from './client-input.ts';
import { planByAccount, planSingly } from './disconnect-plan.ts';
import {
  deleteSessions,
  failed,
  noSession,
  previewDeletion,
  requireDeletion,
  type SessionDeletion,
} from './session-deletion.ts';

interface DisconnectOptions {
  readonly force?: boolean | null | undefined;
  readonly discardWill?: boolean | null | undefined;
}

interface DisconnectInput extends DisconnectOptions {
  readonly clientId: string;
}

interface UnsubscribeInput {
  readonly clientId: string;
  readonly topic: string;
}

interface SubscribeInput extends UnsubscribeInput {
  readonly qos: number;
  readonly noLocal?: boolean | null | undefined;
  readonly retainAsPublished?: boolean | null | undefined;
  readonly sendRetain?: SendRetain | null | undefined;
  readonly subscriptionIdentifier?: number | null | undefined;
}

interface DeletionInput extends BulkSelection {
  readonly dryRun?: boolean | null | undefined;
}

interface BulkDisconnectInput extends DeletionInput, DisconnectOptions {}

export interface ClientReport {
  readonly broker: BrokerRecord;
  readonly clientId: string;
  /** Reads the client after the command; `null` if it no longer exists. Errors: BROKER_TIMEOUT, those of `find`. */
  readonly readClient: () => Promise<ClientView | null>;
}

export interface DisconnectReport extends ClientReport {
  readonly method: DisconnectMethod;
  readonly disconnected: readonly string[];
}

export interface BulkDisconnectReport {
  readonly broker: BrokerRecord;
  /** In the order of the given ids; without given ids, in the order of client ids. */
  readonly results: readonly DisconnectResult[];
  readonly alsoDisconnected: readonly string[];
  readonly isComplete: boolean;
}

export interface SessionDeletionReport {
  readonly broker: BrokerRecord;
  /** In the order of the given ids; without given ids, in the order of client ids. */
  readonly results: readonly SessionDeletion[];
}

interface ClientControlOptions {
  readonly runtimes: BrokerRuntimes;
  readonly clients: ClientService;
  readonly own: OwnConnections;
}

/** Longest wait until the followed log shows the effect of a command. */
const EFFECT_TIMEOUT_MS = 1_500;
const EFFECT_BACKOFF: BackoffTimes = { firstMs: 10, longestMs: EFFECT_TIMEOUT_MS };

/**
 * Disconnects, subscribes and unsubscribes single clients of brokers for administrators. Checks the input before
 * sending commands, and refuses commands on connections of this service (IN_USE). Only the gateway plugin receives
 * `force` and `takeover`, and no commercial plugin receives `discardWill`.
 */
export class ClientControlService {
  readonly #options: ClientControlOptions;

  constructor(options: ClientControlOptions) {
    this.#options = options;
  }

  async disconnect(broker: BrokerRecord, input: DisconnectInput): Promise<DisconnectReport> {
    const { clientId } = input;
    const { clients } = this.#options;
    const { runtime, provider } = await this.#control(broker, clientId, clientIdIssues('input.clientId', clientId));
    const isHosted = provider === 'GATEWAY';
    // A followed log shows the end of a connection after the response; a broker's own list is up to date.
    const previous = isHosted ? await clients.find(broker, clientId).catch(() => null) : null;
    const consent = disconnectFields(broker, provider, input);
    const whenKnown = clients.expectEnds(broker, [clientId]);
    const { method, clientids } = await disconnectClient(runtime.controls, { clientid: clientId, ...consent });
    await whenKnown([clientId]);
    const report = this.#report(broker, clientId, (client) => previous === null || !isSameConnection(client, previous));
    return { ...report, method, disconnected: clientids };
  }

  async subscribe(broker: BrokerRecord, input: SubscribeInput): Promise<ClientReport> {
    const { clientId, topic, qos, noLocal, retainAsPublished, sendRetain, subscriptionIdentifier } = input;
    const issues = [...targetIssues(input), ...subscriptionIssues(input)];
    const { runtime, provider } = await this.#control(broker, clientId, issues);
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
    return this.#report(broker, clientId, (client) => client?.known.subscriptions?.includes(topic) !== false);
  }

  async unsubscribe(broker: BrokerRecord, input: UnsubscribeInput): Promise<ClientReport> {
    const { clientId, topic } = input;
    const { runtime, provider } = await this.#control(broker, clientId, targetIssues(input));
    await unsubscribeClient(runtime.controls, { clientid: clientId, topic, ...consentOf(broker, provider) });
    return this.#report(broker, clientId, (client) => client?.known.subscriptions?.includes(topic) !== true);
  }

  /**
   * Disconnects the selected clients. Errors: INVALID (no selection, or more clients than the limit), those of a
   * filter by group, and those of an unreachable broker. Errors of single clients are in their results.
   */
  async disconnectMany(broker: BrokerRecord, input: BulkDisconnectInput): Promise<BulkDisconnectReport> {
    const { filter, dryRun } = input;
    const { clients, own } = this.#options;
    const { runtime, provider } = await this.#control(broker, null, selectionIssues(input));
    const matching =
      filter == null ? null : await clients.connected(broker, await clients.filterOf(broker, filter, 'input.filter'));
    const { clientIds, unmatched } = selectionOf(input, matching);
    refuseTooMany(clientIds.length, input);

    const isDryRun = dryRun === true;
    const isHosted = provider === 'GATEWAY';
    const isOwn = (clientId: string) => own.has(clientId);
    // Otherwise the broker decides which clients are connected.
    const connected = isHosted || isDryRun ? await clients.connected(broker) : { clients: [], isComplete: false };
    const consent = disconnectFields(broker, provider, input);
    const plan = isHosted
      ? planByAccount(clientIds, { connected: connected.clients, isOwn, ...consent })
      : planSingly(clientIds, isOwn, consent);
    const whenKnown = clients.expectEnds(broker, isDryRun ? [] : clientIds);
    const { results, alsoDisconnected } =
      isDryRun && !isHosted ? previewOf(plan, connected) : await runPlan(runtime.controls, plan, isDryRun);
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

  /**
   * Deletes the sessions of the selected offline clients, with their subscriptions and queues. Errors: INVALID (no
   * selection, or more clients than the limit), NOT_SUPPORTED_BY_BROKER, those of a filter by group, and those of an
   * unreachable broker. Errors of single sessions are in their results.
   */
  async deleteSessions(broker: BrokerRecord, input: DeletionInput): Promise<SessionDeletionReport> {
    requireDeletion(broker.engine);
    const { filter, dryRun } = input;
    const { clients, own } = this.#options;
    const { runtime } = await this.#control(broker, null, selectionIssues(input, false));
    const conditions = filter == null ? null : await clients.filterOf(broker, filter, 'input.filter');
    const matching = conditions === null ? null : await clients.all(broker, { ...conditions, connected: false });
    const { clientIds, unmatched } = selectionOf(input, matching);
    refuseTooMany(clientIds.length, input);
    const others = clientIds.filter((id) => !own.has(id));
    const done =
      dryRun === true
        ? previewDeletion(others, (await clients.all(broker)).clients)
        : await deleteSessions(runtime.controls, others);
    const results = new Map(done.map((result) => [result.clientId, result]));
    for (const id of unmatched) results.set(id, failed(id, noSession(id)));
    for (const id of clientIds) if (own.has(id)) results.set(id, failed(id, ownConnection(id)));
    const order = input.clientIds == null ? clientIds : new Set(input.clientIds);
    return { broker, results: Array.from(order, (id) => results.get(id)).filter((result) => result !== undefined) };
  }

  /** Errors: INVALID, IN_USE, NOT_SUPPORTED_BY_BROKER without client control, and those of an unreachable broker. */
  async #control(broker: BrokerRecord, clientId: string | null, issues: readonly InputIssue[]) {
    if (issues.length > 0) throw invalid(issues);
    if (clientId !== null && this.#options.own.has(clientId)) throw ownConnection(clientId);
    return this.#options.runtimes.ask(broker, async (runtime) => {
      const capability = await runtime.controls.capability(CLIENT_CONTROL_API);
      if (capability.provider === 'NONE') throw notSupported(capability);
      return { runtime, provider: capability.provider };
    });
  }

  /** A followed log shows the effect of a command after the response, so `readClient` reads until it is shown. */
  #report(broker: BrokerRecord, clientId: string, isExpected: (client: ClientView | null) => boolean): ClientReport {
    const readClient = async () => {
      const end = Date.now() + EFFECT_TIMEOUT_MS;
      const backoff = new Backoff(EFFECT_BACKOFF);
      for (;;) {
        const client = await this.#options.clients.find(broker, clientId);
        if (isExpected(client)) return client;
        const pauseMs = backoff.next();
        if (Date.now() + pauseMs > end) throw notShown();
        await pause(pauseMs);
      }
    };
    return { broker, clientId, readClient };
  }
}

const notShown = () =>
  new ServiceError(
    'BROKER_TIMEOUT',
    'The broker has carried out the command, but its log does not show the effect yet: read the client again',
  );

/** Errors: NOT_SUPPORTED_BY_BROKER. */
function disconnectFields(
  broker: BrokerRecord,
  provider: ControlProvider,
  { force, discardWill }: DisconnectOptions,
): Omit<DisconnectClient, 'clientid'> {
  if (provider !== 'GATEWAY') return willField(broker, discardWill);
  return { force: force ?? false, takeover: broker.clientTakeover, discardWill: discardWill ?? false };
}

const consentOf = ({ clientTakeover }: BrokerRecord, provider: ControlProvider): { readonly takeover?: boolean } =>
  provider === 'GATEWAY' ? { takeover: clientTakeover } : {};

const targetIssues = ({ clientId, topic }: UnsubscribeInput): InputIssue[] => [
  ...clientIdIssues('input.clientId', clientId),
  ...topicIssues('input.topic', topic),
];

function isSameConnection(client: ClientView | null, { known: previous }: ClientView): boolean {
  if (client === null || client.known.connected === false) return false;
  return client.known.lastConnect === previous.lastConnect && client.known.remotePort === previous.remotePort;
}
