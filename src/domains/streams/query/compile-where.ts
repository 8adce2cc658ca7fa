import type { Condition } from '../model/stream-query.ts';
import { compileTest } from './condition.ts';
import { compilePath } from './json-path.ts';
import { filtered, type Processed } from './stream-processor.ts';

/** Compiles a condition on a path. The function returns `null` if it is met. A missing path never meets it. */
export function compileWhere(condition: Condition): (root: unknown) => Processed | null {
  const { left } = condition;
  const read = compilePath(left);
  const missing = filtered(`${left} is missing`);
  const judge = compileWhereOf(condition);
  return (root) => {
    const value = read(root);
    return value === undefined ? missing : judge(value);
  };
}

/** Compiles a condition on the value of an alias. The function returns `null` if it is met. */
export function compileWhereOf(condition: Condition): (value: unknown) => Processed | null {
  const { left, operator, right } = condition;
  const test = compileTest(condition);
  const unmet = filtered(`not ${left} ${operator} ${JSON.stringify(right)}`);
  return (value) => (test(value) ? null : unmet);
}
