import type { ExecutionResult } from 'graphql';
import { expect } from 'vitest';
import type { RequestContext } from '../../../src/gateway/context.ts';
import { Operation } from '../../../src/gateway/graphql/operation.ts';
import { Operations } from '../../../src/gateway/graphql/operations.ts';
import { type PublicResult, publicResult } from '../../../src/gateway/graphql/public-error.ts';
import { createGraph } from './graph.ts';

const limits = {
  tokens: 5_000,
  depth: 40,
  aliases: 1_000,
  rootFields: 1_000,
  directives: 1_000,
  sameKey: 1_000,
  repeats: 10_000,
  cost: 1e9,
};
export const schema = createGraph();
const compiling = new Operations({ schema, limits, introspection: 'always', preparationMsPerSecond: Infinity });
const interpreting = new Operations({
  schema,
  limits,
  introspection: 'always',
  preparationMsPerSecond: Infinity,
  executor: 'js',
});
const log = { error: () => {} };

export const context = () => ({ viewer: null, requestId: 'r', address: '' }) as unknown as RequestContext;

async function run(operations: Operations, text: string, variables: object): Promise<PublicResult> {
  const operation = await operations.findFor(context(), text);
  const result: ExecutionResult =
    operation instanceof Operation ? await operation.execute(context(), { ...variables }) : { errors: operation };
  return JSON.parse(JSON.stringify(publicResult(result, { requestId: 'r', log })));
}

/** Like JSON POST: the text of the data if there is one, otherwise the data. */
async function runToText(text: string, variables: object): Promise<PublicResult & { readonly dataText?: string }> {
  const operation = await compiling.findFor(context(), text);
  if (!(operation instanceof Operation)) return run(compiling, text, variables);
  const { dataText, ...result } = await operation.execute(context(), { ...variables }, true);
  const { data, errors } = publicResult(result, { requestId: 'r', log });
  const shown = JSON.parse(JSON.stringify(errors ? { errors } : {}));
  if (dataText !== undefined) return { ...shown, data: JSON.parse(dataText), dataText };
  return { ...shown, ...(data !== undefined && { data: JSON.parse(JSON.stringify(data)) }) };
}

/**
 * If several failing fields make one parent null, the executors report different ones (graphql-js the first in time),
 * so only the path of the null is compared.
 */
export function comparable({ data, errors }: PublicResult): object {
  const places = errors?.map((error) => {
    let value: unknown = data;
    const at = error.path?.findIndex((key) => {
      if (value === null) return true;
      value = Reflect.get(value as object, key);
      return false;
    });
    return at === undefined || at < 0 ? error : { nullAt: error.path?.slice(0, at) };
  });
  return { data, places };
}

/** Runs a document three times with each executor; the second and third run are compiled. */
export async function both(text: string, variables: object = {}): Promise<PublicResult> {
  const expected = await run(interpreting, text, variables);
  for (let i = 0; i < 3; i++) {
    expect(comparable(await run(compiling, text, variables)), text).toEqual(comparable(expected));
    const { dataText, ...written } = await runToText(text, variables);
    expect(comparable(written), text).toEqual(comparable(expected));
    // Compared as text, with keys in the same order.
    if (dataText !== undefined && !written.errors) expect(dataText, text).toBe(JSON.stringify(expected.data));
  }
  return expected;
}
