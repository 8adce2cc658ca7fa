import type { NotificationChannel, Prisma } from '../../../generated/sqlite/client.ts';
import { hasRole, requireSignedIn, requireWholeProject, type Viewer } from '../../../platform/auth/viewer.ts';
import { type InputIssue, invalid, notFound, OutOfSight, ServiceError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import type { Leases } from '../../../platform/storage/leases/leases.ts';
import { RowLock } from '../../../platform/storage/postgresql/row-lock.ts';
import { missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import type { Nullish } from '../../../platform/without-nulls.ts';
import { withoutNulls } from '../../../platform/without-nulls.ts';
import { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import { preparedMessage } from '../../messages/publishing/publish-input.ts';
import { CHANNEL_CHANGED, type Channel, targetContext, toChannel } from './channel.ts';
import {
  digestIssues,
  emailIssues,
  nameIssues,
  secretsOf,
  subscriptionOf,
  type TargetInput,
  webhookIssues,
} from './channel-input.ts';
import { type ChannelTarget, issuesOf, type WebhookSecrets, type WebhookTarget } from './channel-target.ts';
import { DEFAULT_RULES, type NotificationRules, ruleIssues } from './notification-rules.ts';
import type { GraphContext, SubscriptionBodies } from './subscription-body.ts';

interface ChannelServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly leases: Leases;
  readonly sealer: Pick<Sealer, 'seal' | 'open'>;
  readonly brokers: Pick<BrokerCache, 'get'>;
  readonly allowedHosts: readonly string[];
  readonly bodies: Pick<SubscriptionBodies, 'problemOf'>;
  /** Whether e-mail can be sent. */
  readonly hasMail: boolean;
}

interface ChannelInput {
  readonly name?: string | null | undefined;
  readonly isActive?: boolean | null | undefined;
  readonly rules?: Nullish<NotificationRules> | null | undefined;
  readonly target?: TargetInput | null | undefined;
}

/** The caller of a change. `graph`: to check stored documents. */
interface ChannelWriter {
  readonly isRootAdmin: boolean;
  readonly graph: GraphContext;
}

/** Maximum number of channels of a project, and of the service itself. */
export const MAX_CHANNELS = 50;
/** How long a creation waits for one of another process. */
const CREATION_MS = 30_000;

type Columns = Pick<NotificationChannel, 'target' | 'sealedTarget' | 'trustedUrl' | 'kind'>;

/** Manages the channels of projects, and those of the service itself, whose `projectId` is `null`. */
export class ChannelService {
  readonly #options: ChannelServiceOptions;
  readonly #lock: RowLock;
  /** The service itself has no row to lock. */
  readonly #ofService: LeasedMutex;

  constructor(options: ChannelServiceOptions) {
    this.#options = options;
    const { db, leases } = options;
    this.#lock = new RowLock(db);
    const name = 'notification channels of the service';
    this.#ofService = new LeasedMutex({ leases, name, prefix: 'notification-channels', timeoutMs: CREATION_MS });
  }

  /** In the order of creation. The caller has checked the rights. */
  async ofProject(projectId: string | null): Promise<Channel[]> {
    const rows = await this.#options.db.notificationChannel.findMany({ where: { projectId }, orderBy: { id: 'asc' } });
    return rows.map(toChannel);
  }

  /**
   * A channel that the viewer may manage: ADMIN of the project, or a root administrator. Errors: UNAUTHORIZED,
   * NOT_FOUND, NOT_ALLOWED (a token that is restricted to brokers, or a lower role).
   */
  async visible(id: string, viewer: Viewer | null): Promise<Channel> {
    const known = requireSignedIn(viewer);
    const row = await this.#options.db.notificationChannel.findUnique({ where: { id } });
    if (row === null) throw notFound('notification channel', id);
    if (!hasRole(known, row.projectId ?? '', 'VIEWER')) throw new OutOfSight('notificationChannel', id);
    if (!hasRole(known, row.projectId ?? '', 'ADMIN')) {
      throw new ServiceError('NOT_ALLOWED', 'This requires the role admin in the project');
    }
    requireWholeProject(known);
    return toChannel(row);
  }

  /** Errors: INVALID at `input.…`, IN_USE (too many), NOT_FOUND (the project). */
  async create(projectId: string | null, input: ChannelInput, by: ChannelWriter): Promise<Channel> {
    const id = newId('notificationChannel');
    const { name = '', isActive = true } = withoutNulls(input);
    const rules = { ...DEFAULT_RULES, ...withoutNulls(input.rules ?? {}) };
    const columns = await this.#columns({ id, name, projectId }, input.target ?? {}, by, null);
    const issues = [
      ...nameIssues(name),
      ...this.#ruleIssues(rules, projectId, []),
      ...columns.issues,
      ...digestIssues(rules, input.target?.webhook?.template, TEMPLATE_PATH),
    ];
    if (columns.data === null || issues.length > 0) throw invalid(issues);
    const data = { ...columns.data, id, projectId, name: name.trim(), isActive, rules: JSON.stringify(rules) };
    const { db, changes } = this.#options;
    const insert = async (tx: Prisma.TransactionClient) => {
      if ((await tx.notificationChannel.count({ where: { projectId } })) >= MAX_CHANNELS) throw tooMany(projectId);
      return tx.notificationChannel.create({ data });
    };
    const row = await (projectId === null
      ? this.#ofService.run('', () => insert(db))
      : this.#lock.run('Project', projectId, insert));
    await changes.announce(CHANNEL_CHANGED, id);
    return toChannel(row);
  }

  /**
   * Absent values do not change; a given target replaces the whole target. Rules lose brokers that were deleted.
   * Errors: those of `create`.
   */
  async update(channel: Channel, input: ChannelInput, by: ChannelWriter): Promise<Channel> {
    const { id, projectId } = channel;
    const { name = channel.name, isActive = channel.isActive, target } = withoutNulls(input);
    const rules = { ...channel.rules, ...withoutNulls(input.rules ?? {}) };
    const columns = target && (await this.#columns(channel, target, by, channel));
    const issues = [
      ...nameIssues(name),
      ...this.#ruleIssues(rules, projectId, channel.rules.brokerIds),
      ...(columns?.issues ?? []),
      ...(target ? digestIssues(rules, target.webhook?.template, TEMPLATE_PATH) : []),
      ...(!target && input.rules?.digestMinutes != null
        ? digestIssues(rules, templateOf(channel), 'input.rules.digestMinutes')
        : []),
    ];
    if (issues.length > 0) throw invalid(issues);
    const saved = { ...rules, brokerIds: this.#withoutDeleted(rules.brokerIds) };
    const data = { ...columns?.data, name: name.trim(), isActive, rules: JSON.stringify(saved) };
    const { db, changes } = this.#options;
    const row = await db.notificationChannel
      .update({ where: { id }, data })
      .catch(missingAsNotFound('notification channel', id));
    // What made the last attempt fail may be mended.
    const waiting = { channelId: id, state: 'PENDING', attempts: { gt: 0 } } as const;
    if (target) await db.notificationDelivery.updateMany({ where: waiting, data: { nextAttemptAt: new Date() } });
    await changes.announce(CHANNEL_CHANGED, id);
    return toChannel(row);
  }

  /** Its deliveries are deleted, too. Errors: NOT_FOUND. */
  async remove({ id }: Channel): Promise<void> {
    const { count } = await this.#options.db.notificationChannel.deleteMany({ where: { id } });
    if (count === 0) throw notFound('notification channel', id);
    await this.#options.changes.announce(CHANNEL_CHANGED, id);
  }

  /** `stored`: brokers that the rules of the channel have already, which may have been deleted. */
  #ruleIssues(rules: NotificationRules, projectId: string | null, stored: readonly string[]): InputIssue[] {
    const { brokers } = this.#options;
    const added = rules.brokerIds.filter((id) => !stored.includes(id));
    const others = added.filter((id) => brokers.get(id)?.projectId !== projectId);
    return [
      ...ruleIssues(rules),
      ...others.slice(0, 1).map((id) => ({ path: 'input.rules.brokerIds', reason: `has "${id}" of no such project` })),
    ];
  }

  /** All of them if no broker is left, because rules without any would select the problems of all brokers. */
  #withoutDeleted(brokerIds: readonly string[]): readonly string[] {
    const existing = brokerIds.filter((id) => this.#options.brokers.get(id) !== null);
    return existing.length > 0 ? existing : brokerIds;
  }

  async #columns(
    owner: Pick<Channel, 'id' | 'name' | 'projectId'>,
    { webhook, email, mqtt }: TargetInput,
    { isRootAdmin, graph }: ChannelWriter,
    stored: Channel | null,
  ): Promise<{ readonly issues: readonly InputIssue[]; readonly data: Columns | null }> {
    const { id, projectId } = owner;
    const plain = (target: ChannelTarget, issues: InputIssue[]) => {
      const data = { kind: target.kind, target: JSON.stringify(target), sealedTarget: null, trustedUrl: false };
      return { issues, data };
    };
    if (webhook) {
      const secrets = secretsOf(webhook);
      const trustedUrl = isRootAdmin || (stored?.trustedUrl === true && this.#urlOf(stored) === webhook.url);
      const hosts = new AllowedHosts(this.#options.allowedHosts, trustedUrl ? 'ALL' : 'NONE');
      const issues = webhookIssues(webhook, hosts);
      const subscription = subscriptionOf(webhook);
      if (subscription !== null && issues.length === 0) {
        const reason = await this.#options.bodies.problemOf(subscription, owner, graph);
        if (reason !== null) issues.push({ path: 'input.target.webhook.document', reason });
      }
      if (issues.length > 0) return { issues, data: null };
      const target = plain(openPartOf(secrets, { template: webhook.template ?? null, subscription }), issues);
      const sealedTarget = this.#options.sealer.seal(JSON.stringify(secrets), targetContext(id));
      return { issues, data: { ...target.data, sealedTarget, trustedUrl } };
    }
    if (email) {
      const path = 'input.target.email';
      const none = { path, reason: 'needs an SMTP server: the operator sets SMTP_URL and MAIL_FROM' };
      const to = [...email.to];
      return plain({ kind: 'EMAIL', to }, [...(this.#options.hasMail ? [] : [none]), ...emailIssues(email)]);
    }
    if (!mqtt) return { issues: [{ path: 'input.target', reason: 'is required' }], data: null };
    const { brokerId, topic, qos } = mqtt;
    const level = (qos ?? 1) as 0 | 1 | 2;
    return plain({ kind: 'MQTT', brokerId, topic, qos: level }, this.#mqttIssues(brokerId, topic, level, projectId));
  }

  #mqttIssues(brokerId: string, topic: string, qos: number, projectId: string | null): InputIssue[] {
    const path = 'input.target.mqtt';
    const broker = this.#options.brokers.get(brokerId);
    const isOwn = broker !== null && broker.projectId === projectId;
    const issues = isOwn
      ? []
      : [{ path: `${path}.brokerId`, reason: 'must be a broker of the project of the channel' }];
    try {
      preparedMessage({ topic, qos, payload: { text: '' } });
      return issues;
    } catch (error) {
      return [...issues, ...issuesOf(error, path)];
    }
  }

  #urlOf({ id, sealedTarget }: Channel): string | null {
    if (sealedTarget === null) return null;
    return (JSON.parse(this.#options.sealer.open(sealedTarget, targetContext(id))) as WebhookSecrets).url;
  }
}

const openPartOf = (
  { url, secret, headers, credentials }: WebhookSecrets,
  body: Pick<WebhookTarget, 'template' | 'subscription'>,
): ChannelTarget => ({
  kind: 'WEBHOOK',
  origin: new URL(url).origin,
  isSigned: secret !== null,
  headerNames: Object.keys(headers),
  credentialNames: Object.keys(credentials),
  ...body,
});

const TEMPLATE_PATH = 'input.target.webhook.template';

const templateOf = ({ target }: Channel): string | null => (target.kind === 'WEBHOOK' ? target.template : null);

function tooMany(projectId: string | null): ServiceError {
  const owner = projectId === null ? 'The service itself' : 'A project';
  return new ServiceError('IN_USE', `${owner} has at most ${MAX_CHANNELS} notification channels`, {
    info: { limit: MAX_CHANNELS },
  });
}
