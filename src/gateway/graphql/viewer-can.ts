import { type GraphQLResolveInfo, type GraphQLSchema, isObjectType } from 'graphql';
import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';

/** `authScopes` of a field: returns true, or throws the refusal. */
type Guard = (parent: unknown, args: object, context: RequestContext) => boolean | Promise<boolean>;

/**
 * Options of a boolean field: whether the guard of `guarded`, such as `Mutation.updateBroker`, allows the caller. Only
 * the caller decides: the guarded field may still refuse its input. `argsOf` returns the arguments of the guarded
 * field for a value.
 */
export const viewerCan = <Value>(guarded: string, what: string, argsOf: (value: Value) => object) => {
  let guard: Guard | null = null;
  return {
    description: `Whether the caller may ${what}.`,
    extensions: { viewerCan: guarded },
    resolve: (value: Value, _args: object, context: RequestContext, { schema }: GraphQLResolveInfo) => {
      guard ??= guardOf(schema, guarded);
      return allows(guard, value, argsOf(value), context);
    },
  };
};

/** Input of a guarded field for a broker. */
export const ofBroker = ({ id }: { readonly id: string }) => ({ input: { brokerId: id } });

/** Input of a guarded field for a project. */
export const ofProject = ({ id }: { readonly id: string }) => ({ input: { projectId: id } });

function guardOf(schema: GraphQLSchema, guarded: string): Guard {
  const [typeName = '', fieldName = ''] = guarded.split('.');
  const type = schema.getType(typeName);
  const field = isObjectType(type) ? type.getFields()[fieldName] : undefined;
  const guard = (field?.extensions.pothosOptions as { readonly authScopes?: unknown } | undefined)?.authScopes;
  if (typeof guard !== 'function') throw new Error(`${guarded} has no guard`);
  return guard as Guard;
}

function allows(guard: Guard, parent: unknown, args: object, context: RequestContext): boolean | Promise<boolean> {
  try {
    const allowed = guard(parent, args, context);
    return typeof allowed === 'boolean' ? allowed : allowed.catch(refused);
  } catch (error) {
    return refused(error);
  }
}

function refused(error: unknown): false {
  if (error instanceof ServiceError) return false;
  throw error;
}
