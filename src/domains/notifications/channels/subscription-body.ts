import type { RequestContext } from '../../../gateway/context.ts';
import { EventDocuments } from '../../../gateway/graphql/event-documents.ts';
import type { GraphqlLimits } from '../../../gateway/graphql/limits.ts';
import type { Viewer } from '../../../platform/auth/viewer.ts';
import type { ProblemEvent } from '../../problems/problem-feeds.ts';
import type { NotificationContent } from '../notification-content.ts';
import { MAX_BODY, TemplateError } from './body-template.ts';
import type { Channel } from './channel.ts';
import type { StoredSubscription } from './channel-target.ts';

/** What resolvers need, apart from the viewer. */
export type GraphContext = Pick<RequestContext, 'db' | 'services'>;

interface SubscriptionBodiesOptions {
  readonly openSchema: () => Promise<ConstructorParameters<typeof EventDocuments>[0]['schema']>;
  readonly limits: GraphqlLimits;
}

export const MAX_DOCUMENT = 16_000;
export const MAX_VARIABLES = 16_000;

type Owner = Pick<Channel, 'id' | 'name' | 'projectId'>;

/**
 * Bodies of webhooks that are results of a stored `subscription { problems … }`, as a subscriber would get them; for
 * channels of the service itself, of `serviceProblems`.
 */
export class SubscriptionBodies {
  readonly #options: SubscriptionBodiesOptions;
  #documents: Promise<EventDocuments> | null = null;

  constructor(options: SubscriptionBodiesOptions) {
    this.#options = options;
  }

  /** Why the document or its variables cannot be used; `null` if they can. */
  async problemOf(subscription: StoredSubscription, owner: Owner, graph: GraphContext): Promise<string | null> {
    try {
      (await this.#opened()).check(eventOf(subscription, owner), contextOf(owner, graph));
      return null;
    } catch (error) {
      return `is not valid: ${(error as Error).message}`;
    }
  }

  /** Errors: TemplateError if the schema of this version does not have what the document selects. */
  async render(
    subscription: StoredSubscription,
    owner: Owner,
    content: NotificationContent,
    graph: GraphContext,
  ): Promise<string> {
    const documents = await this.#opened();
    const event = await problemEvent(content, graph);
    try {
      const result = await documents.execute(eventOf(subscription, owner), event, contextOf(owner, graph));
      const text = JSON.stringify(result);
      if (text.length > MAX_BODY) throw new Error(`the result has more than ${MAX_BODY} characters`);
      return text;
    } catch (error) {
      throw new TemplateError(`of the subscription fails: ${(error as Error).message}`, { cause: error });
    }
  }

  #opened(): Promise<EventDocuments> {
    const { openSchema, limits } = this.#options;
    this.#documents ??= openSchema().then((schema) => new EventDocuments({ schema, limits }));
    return this.#documents;
  }
}

const eventOf = ({ document, variables }: StoredSubscription, { projectId }: Owner) => ({
  text: document,
  variables,
  rootField: projectId === null ? 'serviceProblems' : 'problems',
});

/** The problems as they were when they changed. A problem that was deleted meanwhile is `removed`. */
async function problemEvent({ notices }: NotificationContent, { services }: GraphContext): Promise<ProblemEvent> {
  const stored = await services.problems.store.read(notices.map(({ id }) => id));
  const records = new Map(stored.map((record) => [record.id, record]));
  const known = notices.flatMap(({ id, severity, closedAt }) => {
    const record = records.get(id);
    return record === undefined
      ? []
      : [{ ...record, severity, closedAt: closedAt === null ? null : new Date(closedAt) }];
  });
  const removed = notices.flatMap(({ id }) => (records.has(id) ? [] : [id]));
  return { kind: 'CHANGE', sequence: 0, partsLeft: 0, change: { problems: known, removed } };
}

/** A viewer of the project of the channel, or a root administrator for a channel of the service. */
function contextOf({ id, name, projectId }: Owner, graph: GraphContext): RequestContext {
  const viewer: Viewer = {
    kind: 'TOKEN',
    id,
    name,
    credentialId: id,
    expiresAt: Number.POSITIVE_INFINITY,
    isRootAdmin: projectId === null,
    projectRoles: new Map(projectId === null ? [] : [[projectId, 'VIEWER']]),
    brokers: null,
  };
  return { ...graph, viewer, requestId: id, address: '', via: 'SERVICE' };
}
