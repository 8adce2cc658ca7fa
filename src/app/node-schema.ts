import type { AccessView, WithView } from '../domains/access-control/graph/access-view.ts';
import type { BrokerRecord } from '../domains/brokers/broker-cache.ts';
import type { RequestContext, Services } from '../gateway/context.ts';
import { builder, requires } from '../gateway/graphql/builder.ts';
import { Node } from '../gateway/graphql/node.ts';
import { type NamedNodeKind, parseNamedNodeId } from '../gateway/named-node-id.ts';
import type { Organisation, User } from '../generated/sqlite/client.ts';
import { OutOfSight, ServiceError } from '../platform/errors.ts';
import { kindOfId } from '../platform/ids.ts';

/** Returns the object with an id. `null` if it does not exist or the caller may not see it. */
async function findNode(id: string, context: RequestContext): Promise<{ readonly id: string } | null> {
  const { services, viewer } = context;
  try {
    switch (kindOfId(id)) {
      case 'project':
        return services.projects.visible(id, viewer);
      case 'broker':
        return services.brokers.visible(id, viewer);
      case 'user':
        return await findUser(id, context);
      case 'organisation':
        return await findOrganisation(id, context);
      case 'token':
        return await services.tokens.findVisible(id, viewer);
      case 'certificate':
        return services.certificates.visible(id, viewer);
      case 'accessClient':
      case 'accessGroup':
      case 'accessRole':
      case 'stream':
        return await findNamed(id, context);
      default:
        return null;
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
    // The response has no error, so the field itself cannot see the refusal.
    services.audit.refusedRead({ operation: 'node', input: { id } }, context, error);
    return null;
  }
}

async function findUser(id: string, { db, viewer }: RequestContext): Promise<User | null> {
  const user = await db.user.findUnique({ where: { id } });
  if (user !== null && !viewer?.isRootAdmin && viewer?.id !== id) throw new OutOfSight('user', id);
  return user;
}

async function findOrganisation(id: string, { db, services, viewer }: RequestContext): Promise<Organisation | null> {
  const where = { id, ...services.organisations.visibleWhere(viewer) };
  const organisation = await db.organisation.findFirst({ where });
  if (organisation === null && (await db.organisation.count({ where: { id } })) > 0) {
    throw new OutOfSight('organisation', id);
  }
  return organisation;
}

async function findNamed(id: string, { services, viewer }: RequestContext): Promise<{ readonly id: string } | null> {
  const node = parseNamedNodeId(id);
  if (node === null) return null;
  const { kind, brokerId, name } = node;
  const found = await FIND[kind](services, services.brokers.visible(brokerId, viewer), name);
  return found && { ...found, id };
}

type Find = (services: Services, broker: BrokerRecord, name: string) => Promise<object | null>;

const inAccessControl =
  (look: (view: AccessView, name: string) => WithView<unknown> | null): Find =>
  async ({ accessControl }, broker, name) =>
    look(await accessControl.view(broker), name);

const FIND: Readonly<Record<NamedNodeKind, Find>> = {
  accessClient: inAccessControl((view, name) => view.client(name)),
  accessGroup: inAccessControl((view, name) => view.group(name)),
  accessRole: inAccessControl((view, name) => view.role(name)),
  stream: ({ streams }, broker, name) => streams.find(broker, name),
};

builder.queryFields((t) => ({
  node: t.field({
    description: 'Anything by its id; null when there is nothing that the caller may see.',
    type: Node,
    nullable: true,
    args: { id: t.arg.id({ required: true }) },
    ...requires('SIGNED_IN'),
    resolve: (_root, { id }, context) => findNode(id, context),
  }),
}));
