import { diffAccess as changesInSteps } from '../../../src/domains/access-control/documents/access-diff.ts';
import {
  documentOf as documentInSteps,
  policyOf as policyInSteps,
} from '../../../src/domains/access-control/documents/access-document.ts';
import { parseDocument as parseInSteps } from '../../../src/domains/access-control/documents/access-document-parser.ts';
import { planImport as importInSteps } from '../../../src/domains/access-control/documents/access-import.ts';
import { parseMosquittoFile as parseFileInSteps } from '../../../src/domains/access-control/documents/mosquitto-file.ts';
import { explainAccess as explainInSteps } from '../../../src/domains/access-control/explain/access-explainer.ts';
import { whoCan as whoCanInSteps } from '../../../src/domains/access-control/explain/who-can.ts';
import type { AccessChange } from '../../../src/domains/access-control/writing/access-change.ts';
import type { PlannedChange } from '../../../src/domains/access-control/writing/access-plan.ts';
import { AccessPlanner } from '../../../src/domains/access-control/writing/access-planner.ts';
import { judge as judgeInSteps } from '../../../src/domains/access-control/writing/lost-responses.ts';
import { runSync, type SlicedTask } from '../../../src/platform/scheduling/sliced-task.ts';
import type { AccessDialect, AccessPolicy } from '../../../src/protocol/apis/access-control/access-model.ts';

/** What the service does in slices, done at once. */
const whole =
  <Arguments extends readonly unknown[], T>(steps: (...args: Arguments) => SlicedTask<T>) =>
  (...args: Arguments): T =>
    runSync(steps(...args));

export const diffAccess = whole(changesInSteps);
export const documentOf = whole(documentInSteps);
export const policyOf = whole(policyInSteps);
export const parseDocument = whole(parseInSteps);
export const explainAccess = whole(explainInSteps);
export const whoCan = whole(whoCanInSteps);
export const planImport = whole(importInSteps);
export const judge = whole(judgeInSteps);
export const parseMosquittoFile = whole(parseFileInSteps);

/** All of `changes`, and the policy once they are done. */
export function planChanges(
  policy: AccessPolicy,
  dialect: AccessDialect,
  changes: readonly AccessChange[],
  { gatewayUsername, mayControl = true }: { readonly gatewayUsername: string | null; readonly mayControl?: boolean },
): { readonly changes: readonly PlannedChange[]; readonly after: AccessPolicy } {
  const planner = new AccessPlanner(policy, dialect, gatewayUsername);
  return { changes: changes.map((change) => planner.next(change, mayControl)), after: planner.after };
}
