import type { GraphQLSchema } from 'graphql';
import type { AuditInput } from '../audit/audit-target.ts';
import type { RequestContext } from '../context.ts';

/**
 * Each field of the mutation root is recorded, whichever road it is asked by: around all that Pothos does, so that refusals are seen,
 * too. Changes the schema in place.
 */
export function audited(schema: GraphQLSchema): GraphQLSchema {
  for (const [operation, field] of Object.entries(schema.getMutationType()?.getFields() ?? {})) {
    const { resolve } = field;
    if (resolve === undefined) throw new Error(`The mutation ${operation} has no resolver`);
    const inputType = field.args.find(({ name }) => name === 'input')?.type;
    field.resolve = (source, args, context: RequestContext, info) => {
      const input: AuditInput = args.input ?? args;
      const call = { operation, input, inputType, caller: context };
      return context.services.audit.mutation(call, () => resolve(source, args, context, info));
    };
  }
  return schema;
}
