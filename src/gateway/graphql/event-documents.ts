import {
  type ExecutionResult,
  execute,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import type { RequestContext } from '../context.ts';
import { Cost } from './cost.ts';
import { type OperationDocument, operationDocument, type Variables } from './document.ts';
import { checkShape, type GraphqlLimits } from './limits.ts';
import { isRefusal, VariableReader } from './variables.ts';
import { guardLists } from './whole-lists.ts';

/** A subscription that a user has stored. */
interface EventDocument {
  readonly text: string;
  readonly variables: Variables;
  /** The only root field that the document may select. */
  readonly rootField: string;
}

interface EventDocumentsOptions {
  readonly schema: GraphQLSchema;
  readonly limits: GraphqlLimits;
}

const MAX_ERRORS = 3;

/**
 * Stored subscription documents. They subscribe to nothing: each is executed for an event that is known, with the
 * result that a subscriber would get.
 */
export class EventDocuments {
  readonly #options: EventDocumentsOptions;

  constructor(options: EventDocumentsOptions) {
    this.#options = options;
    guardLists(options.schema);
  }

  /** Checks a document with the limits of requests. Errors: an error with the reason. */
  check(event: EventDocument, context: RequestContext): void {
    this.#prepared(event, context);
  }

  /** The result for an event of the root field. Errors: those of `check`, as a schema of a later version may differ. */
  async execute(event: EventDocument, value: object, context: RequestContext): Promise<ExecutionResult> {
    const document = this.#prepared(event, context);
    const { schema } = this.#options;
    const rootValue = value;
    return execute({ schema, document, rootValue, contextValue: context, variableValues: event.variables });
  }

  #prepared({ text, variables, rootField }: EventDocument, context: RequestContext): OperationDocument {
    const { schema, limits } = this.#options;
    const parsed = parse(text, { maxTokens: limits.tokens });
    checkShape(parsed, limits);
    const [fault] = validate(schema, parsed, specifiedRules, { maxErrors: MAX_ERRORS });
    if (fault !== undefined) throw fault;
    const document = operationDocument(parsed);
    const [operation] = document?.definitions ?? [];
    const [field, ...others] = operation?.selectionSet.selections ?? [];
    const isOne = others.length === 0 && field?.kind === Kind.FIELD && field.name.value === rootField;
    if (document === null || operation?.operation !== OperationTypeNode.SUBSCRIPTION || !isOne) {
      throw new Error(`It must be one subscription of the field "${rootField}"`);
    }
    const coerced = new VariableReader(schema, operation.variableDefinitions).read(variables);
    if (isRefusal(coerced)) throw coerced[0] ?? new Error('A variable is not valid');
    new Cost(schema, document, limits.cost).check(context, variables, coerced);
    return document;
  }
}
