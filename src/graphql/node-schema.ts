import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { kindOfId } from '../ids.ts';
import { builder } from './builder.ts';
import { Node } from './node.ts';

/** What the caller may see of an id; null when there is nothing, or nothing for this caller. */
async function findNode(id: string, { db, services, viewer }: RequestContext): Promise<{ readonly id: string } | null> {
  try {
    switch (kindOfId(id)) {
      case 'project':
        return services.projects.visible(id, viewer);
      case 'broker':
        return services.brokers.visible(id, viewer);
      case 'user':
        return viewer?.isRootAdmin || viewer?.id === id ? await db.user.findUnique({ where: { id } }) : null;
      case 'organisation':
        return await db.organisation.findFirst({ where: { id, ...services.organisations.visibleWhere(viewer) } });
      case 'token':
        return await services.tokens.findVisible(id, viewer);
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

builder.queryFields((t) => ({
  node: t.field({
    description: 'Anything by its id; null when there is nothing that the caller may see.',
    type: Node,
    nullable: true,
    args: { id: t.arg.id({ required: true }) },
    extensions: { requires: 'SIGNED_IN' },
    resolve: (_root, { id }, context) => findNode(id, context),
  }),
}));
