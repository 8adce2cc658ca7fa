import { changesTowards as changesInSteps } from '../../src/access-control/access-diff.ts';
import { documentOf as documentInSteps, policyOf as policyInSteps } from '../../src/access-control/access-document.ts';
import { parseDocument as parseInSteps } from '../../src/access-control/access-document-parser.ts';
import { explainAccess as explainInSteps, whoCan as whoCanInSteps } from '../../src/access-control/access-explainer.ts';
import { planImport as importInSteps } from '../../src/access-control/access-import.ts';
import { judge as judgeInSteps } from '../../src/access-control/lost-answers.ts';
import { parseMosquittoFile as parseFileInSteps } from '../../src/access-control/mosquitto-file.ts';
import { atOnce, type Steps } from '../../src/steps.ts';

/** What the service does in slices, done at once. */
const whole =
  <Arguments extends readonly unknown[], T>(steps: (...args: Arguments) => Steps<T>) =>
  (...args: Arguments): T =>
    atOnce(steps(...args));

export const changesTowards = whole(changesInSteps);
export const documentOf = whole(documentInSteps);
export const policyOf = whole(policyInSteps);
export const parseDocument = whole(parseInSteps);
export const explainAccess = whole(explainInSteps);
export const whoCan = whole(whoCanInSteps);
export const planImport = whole(importInSteps);
export const judge = whole(judgeInSteps);
export const parseMosquittoFile = whole(parseFileInSteps);
