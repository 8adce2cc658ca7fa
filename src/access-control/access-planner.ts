import type { AccessChange } from './access-change.ts';
import type { AccessDialect, AccessPolicy } from './access-model.ts';
import type { AccessPlan } from './access-plan.ts';

export interface PlanOptions {
  /** The account of this service's own connection; null: it connects without user name. */
  readonly gatewayUsername: string | null;
}

/** The commands that bring about `changes`, each on the result of those before it. Pure. */
export function planChanges(
  policy: AccessPolicy,
  _dialect: AccessDialect,
  changes: readonly AccessChange[],
  _options: PlanOptions,
): AccessPlan {
  return { changes: changes.map((change) => ({ change, commands: [], error: null })), after: policy };
}
