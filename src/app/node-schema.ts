import type { RequestContext } from '../gateway/context.ts';
import { builder, requires } from '../gateway/graphql/builder.ts';
import { findNode, Node } from '../gateway/graphql/node.ts';
import { ServiceError } from '../platform/errors.ts';

/** Returns the object with an id. `null` if it does not exist or the caller may not see it. */
async function visibleNode(id: string, context: RequestContext): Promise<object | null> {
  try {
    return await findNode(id, context);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
    // The response has no error, so the field itself cannot see the refusal.
    context.services.audit.refusedRead({ operation: 'node', input: { id } }, context, error);
    return null;
  }
}

builder.queryFields((t) => ({
  node: t.field({
    description: 'Anything by its id; null when there is nothing that the caller may see.',
    type: Node,
    nullable: true,
    args: { id: t.arg.id({ description: 'A global id.', required: true }) },
    ...requires('SIGNED_IN'),
    resolve: (_root, { id }, context) => visibleNode(id, context),
  }),
}));
