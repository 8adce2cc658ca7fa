import { reasonTexts } from '../advice/reason-texts.ts';
import { type Advised, adviceIn } from '../advice/use-advice.ts';
import { capabilityTexts } from '../texts/capability-texts.ts';
import type { LoadedLanguage } from '../texts/languages.ts';
import { translate } from '../texts/texts.ts';
import { helpTexts } from './help-texts.ts';
import type { ShownProblem } from './operations.ts';
import { remedyTexts } from './remedy-texts.ts';
import { statementTexts } from './statement-texts.ts';
import { titleTexts } from './title-texts.ts';

/** A part of a text. `isAsSent`: it is of the service, a broker or a target, and English. */
export interface Part {
  readonly text: string;
  readonly isAsSent: boolean;
}

export interface ProblemWords {
  readonly title: string;
  readonly detail: readonly Part[];
  readonly help: readonly Part[];
}

export type WordedProblem = Pick<ShownProblem, 'kind' | 'detail' | 'whatWouldHelp'> & {
  readonly statements: readonly ShownProblem['statements'][number][];
};
type Statement = WordedProblem['statements'][number];
type Parameters = Readonly<Record<string, string>>;

/** Stands for the text of an error, which has no such character. */
const ERROR = '\0';
/** Parameters that are numbers, in the format of the language. */
const NUMBERS = new Set(['count', 'times', 'days', 'megabytes']);

const asSent = (text: string): readonly Part[] => [{ text, isAsSent: true }];
const said = (text: string): readonly Part[] => [{ text, isAsSent: false }];

const isKey = <Key extends string>(texts: Readonly<Record<Key, string>>, key: string | undefined): key is Key =>
  key !== undefined && Object.hasOwn(texts, key);

/** What is wrong and what would help, in a language. */
export function problemWords(problem: WordedProblem, language: LoadedLanguage): ProblemWords {
  return {
    title: translate(titleTexts, language)(problem.kind),
    detail: detailOf(problem, language),
    help: helpOf(problem, language),
  };
}

// The graph describes them.
const parametersOf = ({ parameters }: Statement) => parameters as Parameters;

function detailOf({ detail, statements }: WordedProblem, language: LoadedLanguage): readonly Part[] {
  // Of an earlier version of the service, or of a later one.
  if (statements.length === 0 || !statements.every(({ code }) => isKey(statementTexts.en, code))) return asSent(detail);
  return statements.flatMap((statement, nth) => [...(nth > 0 ? said(' ') : []), ...statementIn(statement, language)]);
}

function statementIn(statement: Statement, language: LoadedLanguage): readonly Part[] {
  const parameters = parametersOf(statement);
  const { api, reasonCode, error = '' } = parameters;
  const text = translate(statementTexts, language);
  if (statement.code === 'CAPABILITY' && isKey(capabilityTexts.en, reasonCode)) {
    return said(text('CAPABILITY', { api, error: translate(capabilityTexts, language)(reasonCode, { api }) }));
  }
  const parts = text(statement.code, { ...inWords(parameters, language), error: ERROR }).split(ERROR);
  return parts
    .flatMap((part, nth) => [...(nth > 0 ? asSent(error) : []), ...said(part)])
    .filter((part) => part.text !== '');
}

/** The values of a sentence as people read them. */
function inWords(parameters: Parameters, language: LoadedLanguage): Parameters {
  const numbers = new Intl.NumberFormat(language.tag);
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => {
      if (NUMBERS.has(name)) return [name, numbers.format(Number(value))];
      if (name === 'reason' && isKey(reasonTexts.en, value)) return [name, translate(reasonTexts, language)(value)];
      return [name, value];
    }),
  );
}

/** English has the words of the service, which may be more precise than those of the kind. */
function helpOf({ kind, statements, whatWouldHelp }: WordedProblem, language: LoadedLanguage): readonly Part[] {
  if (language.tag === 'en') return said(whatWouldHelp);
  const help = translate(helpTexts, language)(kind);
  const remedies = statements.flatMap((statement) => remedyOf(statement, { help, whatWouldHelp, language }) ?? []);
  const [remedy = whatWouldHelp === helpTexts.en[kind] ? help : undefined] = remedies;
  return remedy === undefined ? asSent(whatWouldHelp) : said(remedy);
}

interface Helps {
  /** In the words of the kind. */
  readonly help: string;
  readonly whatWouldHelp: string;
  readonly language: LoadedLanguage;
}

/** What would help, if the statement decides it. */
function remedyOf(statement: Statement, { help, whatWouldHelp, language }: Helps): string | null {
  const text = translate(remedyTexts, language);
  const { commands, ...parameters } = parametersOf(statement);
  if (statement.code === 'DISK_NOT_WRITABLE') return text('diskNotWritable');
  if (statement.code === 'BROKER_PROCESS_AWAY') return text('processAway');
  if (statement.code === 'CAPABILITY' || statement.code === 'SYS_NOT_READABLE')
    return commands === undefined ? help : `${help}\n${text('commands')}\n${commands}`;
  if (statement.code !== 'ATTEMPTS_DENIED' && statement.code !== 'CLIENT_ID_SHARED') return null;
  return adviceIn(language)({ ...refusalOf(parameters), whatWouldHelp });
}

/** What the advice about a refusal depends on. */
function refusalOf(parameters: Parameters): Omit<Advised, 'whatWouldHelp'> {
  const { reason, username = null, clientId = null, address = null, decision } = parameters;
  const { otherAddress = null, otherUsername = null } = parameters;
  const { roleName, groupName = null, ruleTopic, rulePriority } = parameters;
  const rule = ruleTopic === undefined ? null : { topic: ruleTopic, priority: Number(rulePriority) };
  return {
    reason: isKey(reasonTexts.en, reason) ? reason : 'OTHER',
    ...{ username, clientId, address },
    takenOverBy: { address: otherAddress, username: otherUsername },
    decision: decision === 'BROKER' ? 'BROKER' : null,
    decidedBy: roleName === undefined ? null : { roleName, groupName, rule },
  };
}
