import { parseExpression } from './cel.ts';

/** Why a filter or an output is invalid; `null` if it is valid. */
export function expressionProblem(name: 'filter' | 'output', source: unknown): string | null {
  if (typeof source !== 'string') return 'must be a text with an expression';
  try {
    const { type } = parseExpression(source);
    if (name === 'output' || type === 'bool' || type === 'dyn') return null;
    return `must be true or false, but is of type ${type}`;
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}
