import Mustache from 'mustache';
import type { NotificationContent, ProblemNotice } from '../notification-content.ts';

/** Maximum characters of a template. */
const MAX_TEMPLATE = 16_000;
/** Maximum characters of a rendered body. */
export const MAX_BODY = 262_144;
/** Maximum number of rendered tags and texts, so that nested sections end. */
const MAX_STEPS = 100_000;
/** A name is searched in all sections around it, so a tag counts once for each of this many sections. */
const SECTIONS_PER_STEP = 10;

/** Credentials of the channel by name, which the template writes as `{{credentials.<name>}}`. */
export type Credentials = Readonly<Record<string, string>>;

/** The message completes the sentence "The template …". */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** All names that a tag may consist of, besides those of credentials. */
const NAMES = new Set(
  'type timestamp count problem problems credentials change id kind severity title detail whatWouldHelp project broker'
    .concat(
      ' name subject openedAt closedAt isTest isDigest isOpened isClosed isCritical isWarning isNotice isLast slack',
    )
    .split(' '),
);

/** Names of objects and lists, which would be written as `[object Object]`. */
const OBJECTS = new Set(['problem', 'problems', 'project', 'broker', 'subject', 'slack']);

/**
 * Mustache that stops at the bounds of time and size. Project administrators write templates, and nested sections
 * multiply.
 */
class BoundedWriter extends Mustache.Writer {
  #steps = 0;
  #depth = 0;
  #characters = 0;

  override renderTokens(...args: Parameters<InstanceType<typeof Mustache.Writer>['renderTokens']>): string {
    this.#depth += 1;
    this.#steps += (args[0].length + 1) * Math.ceil(this.#depth / SECTIONS_PER_STEP);
    const text = this.#steps > MAX_STEPS ? '' : super.renderTokens(...args);
    this.#depth -= 1;
    this.#characters += text.length;
    if (this.#steps > MAX_STEPS) throw new TemplateError(`needs more than ${MAX_STEPS} steps: its sections are nested`);
    if (this.#characters > MAX_BODY * 4) throw tooLong();
    return text;
  }
}

const tooLong = () => new TemplateError(`makes a body of more than ${MAX_BODY} characters`);

/**
 * The body of a message by a Mustache template. Values are escaped for JSON strings. Errors: TemplateError, also for a
 * body that is not JSON.
 */
export function renderTemplate(template: string, content: NotificationContent, credentials: Credentials): string {
  const writer = new BoundedWriter();
  const body = writer.render(template, viewOf(content, credentials), undefined, { escape: escapeJson });
  if (body.length > MAX_BODY) throw tooLong();
  try {
    JSON.parse(body);
  } catch (error) {
    // The rest of the message quotes the body, which may contain credentials.
    const [place = null] = /position \d+|end of JSON/.exec(String(error)) ?? [];
    const where = place === null ? '' : `: it is not valid at ${place.replace('end of JSON', 'the end')} of the body`;
    throw new TemplateError(`does not make JSON for ${content.type}${where}`);
  }
  return body;
}

const escapeJson = (value: unknown): string => JSON.stringify(String(value)).slice(1, -1);

function viewOf({ type, timestamp, notices }: NotificationContent, credentials: Credentials): object {
  const problems = notices.map((notice, index) => problemView(notice, index === notices.length - 1));
  const [problem] = problems;
  return {
    type,
    timestamp,
    count: notices.length,
    isTest: type === 'test',
    isDigest: type === 'problem.digest',
    problem,
    problems,
    credentials,
  };
}

const problemView = (notice: ProblemNotice, isLast: boolean) => ({
  ...notice,
  isOpened: notice.change === 'OPENED',
  isClosed: notice.change === 'CLOSED',
  isCritical: notice.severity === 'CRITICAL',
  isWarning: notice.severity === 'WARNING',
  isNotice: notice.severity === 'NOTICE',
  isLast,
  slack: JSON.parse(JSON.stringify(notice, (_, value) => (typeof value === 'string' ? escapeSlack(value) : value))),
});

/** Slack executes `<!channel>` in a text, and a client id may contain it. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Why a template cannot be used; `null` if it can. `samples`: contents that it must render to JSON. */
export function templateProblem(
  template: string,
  credentials: Credentials,
  samples: readonly NotificationContent[],
): string | null {
  if (template.length > MAX_TEMPLATE) return `must have at most ${MAX_TEMPLATE} characters`;
  try {
    requireKnown(new BoundedWriter().parse(template) as Tokens, new Set(Object.keys(credentials)));
    for (const sample of samples) renderTemplate(template, sample, credentials);
    return null;
  } catch (error) {
    // The library throws plain errors with the place of a syntax error.
    return error instanceof TemplateError ? error.message : `is not valid Mustache: ${(error as Error).message}`;
  }
}

/** Whether a template writes the first problem only, so that a digest loses the others. `false` if it is not valid. */
export function losesProblems(template: string): boolean {
  const tags: string[] = [];
  const collect = (tokens: Tokens): void => {
    for (const [kind, value, , , inner] of tokens) {
      if (kind !== 'text' && kind !== '!') tags.push(`${kind}${value}`);
      if (Array.isArray(inner)) collect(inner as Tokens);
    }
  };
  try {
    collect(new BoundedWriter().parse(template) as Tokens);
  } catch {
    return false;
  }
  return tags.some((tag) => /^(name|[#^])problem(\.|$)/.test(tag)) && !tags.includes('#problems');
}

type Tokens = readonly (readonly [kind: string, value: string, start: number, end: number, inner?: Tokens | string])[];

/** A name may lead only to values of the view, and never to properties that JavaScript adds to them. */
function requireKnown(tokens: Tokens, credentials: ReadonlySet<string>): void {
  for (const [kind, value, , , inner] of tokens) {
    if (kind === 'text' || kind === '!') continue;
    if (!['name', '#', '^'].includes(kind)) {
      throw new TemplateError(`must not use {{${kind}${value}}}: values, sections and comments are possible`);
    }
    const [first, ...rest] = value.split('.');
    const isKnown =
      first === 'credentials'
        ? rest.length === 1 && credentials.has(rest[0] ?? '')
        : value.split('.').every((part) => NAMES.has(part));
    if (!isKnown) throw new TemplateError(`must not use {{${value.slice(0, 100)}}}: there is no such value`);
    if (kind === 'name' && first !== 'credentials' && OBJECTS.has(rest.at(-1) ?? value)) {
      throw new TemplateError(`must not use {{${value}}}: it is no text; use one of its values`);
    }
    if (Array.isArray(inner)) requireKnown(inner as Tokens, credentials);
  }
}
