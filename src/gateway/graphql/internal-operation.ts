import { type ExecutionResult, type GraphQLSchema, OperationTypeNode, parse, validate } from 'graphql';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import { NO_VARIABLES, type OperationDocument, operationDocument, type Variables } from './document.ts';
import { Program } from './program.ts';
import { isRefusal, VariableReader } from './variables.ts';
import { guardLists } from './whole-lists.ts';

interface InternalOperationOptions {
  readonly hasRawLeaves?: boolean;
  /** Of lists and objects in the variables. Default: that of callers' operations. */
  readonly maxVariableEntries?: number;
}

export interface CompiledOperation {
  readonly document: OperationDocument;
  readonly execute: (context: unknown, variables?: Variables) => ValueOrPromise<ExecutionResult>;
  /** Compiles now. Errors: NotCompilable if graphql-js has to execute the operation. */
  readonly compile: () => void;
}

/** Creates an operation of the service itself, without limits. It is compiled at its first execution. */
export function compileOperation(
  schema: GraphQLSchema,
  text: string,
  { maxVariableEntries, hasRawLeaves = false }: InternalOperationOptions = {},
): CompiledOperation {
  guardLists(schema);
  const parsed = parse(text);
  const [invalid] = validate(schema, parsed);
  if (invalid) throw invalid;
  const document = operationDocument(parsed);
  const [operation] = document?.definitions ?? [];
  if (!document || operation?.operation === OperationTypeNode.SUBSCRIPTION) {
    throw new Error('One query or mutation is expected');
  }
  const program = new Program(schema, document, { compileAfter: 0, hasRawLeaves });
  const reader = new VariableReader(schema, operation?.variableDefinitions, maxVariableEntries);
  return {
    document,
    compile: () => void program.compile(NO_VARIABLES),
    execute(context, variables = NO_VARIABLES) {
      const coerced = reader.read(variables);
      if (isRefusal(coerced)) return { errors: coerced };
      return program.run(undefined, context, variables, coerced);
    },
  };
}
