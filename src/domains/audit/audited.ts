import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
} from 'graphql';
import type { RequestContext } from '../../gateway/context.ts';
import type { AuditedRead } from './audit-service.ts';
import type { AuditInput } from './audit-target.ts';

type Field = GraphQLField<unknown, RequestContext>;
type Resolve = GraphQLFieldResolver<unknown, RequestContext>;

/** Wraps resolvers in place, outside of the Pothos plugins, so that errors of their authorization are recorded, too. */
export function audited(schema: GraphQLSchema): GraphQLSchema {
  for (const field of fieldsOf(schema.getMutationType())) recorded(field);
  for (const field of fieldsOf(schema.getQueryType())) field.resolve = watched(field.name, resolverOf(field));
  for (const field of fieldsOf(schema.getSubscriptionType())) {
    const { subscribe } = field;
    if (subscribe === undefined) throw new Error(`The subscription ${field.name} has no source`);
    field.subscribe = watched(field.name, subscribe);
  }
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || roots.includes(type) || type.name.startsWith('__')) continue;
    for (const field of fieldsOf(type)) {
      if (mayRefuse(field)) field.resolve = watched(`${type.name}.${field.name}`, resolverOf(field));
    }
  }
  return schema;
}

const fieldsOf = (type: GraphQLObjectType | null | undefined): Field[] => Object.values(type?.getFields() ?? {});

const resolverOf = ({ resolve }: Field): Resolve => resolve ?? defaultFieldResolver;

/** Whether a field requires more rights than its parent, or reads one object by id. */
const mayRefuse = ({ extensions, args }: Field): boolean =>
  extensions.requires !== undefined || args.some(({ name }) => name === 'id' || name === 'brokerId');

function recorded(field: Field): void {
  const { name: operation, resolve } = field;
  if (resolve === undefined) throw new Error(`The mutation ${operation} has no resolver`);
  const inputType = field.args.find(({ name }) => name === 'input')?.type;
  field.resolve = (source, args, context, info) => {
    const input: AuditInput = args.input ?? args;
    const call = { operation, input, inputType, caller: context };
    return context.services.audit.mutation(call, () => resolve(source, args, context, info));
  };
}

/** Success must add no cost: the fields of long lists are wrapped, too. */
function watched(operation: string, resolve: Resolve): Resolve {
  return (owner, args, context, info) => {
    const failed = (error: unknown) => {
      const read: AuditedRead = { operation, input: args.input ?? args, owner };
      context.services.audit.refusedRead(read, context, error);
    };
    try {
      const result: unknown = resolve(owner, args, context, info);
      if (result instanceof Promise) result.then(undefined, failed);
      return result;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
}
