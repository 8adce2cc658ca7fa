/** Maximum number of examples, and their length in UTF-16 code units. */
const MAX_EXAMPLES = 3;
const MAX_LENGTH = 200;

const SECRET = /\b(pass\w*|pw|secret|token|key)(\s*[=:]\s*|\s+)\S+/gi;
const USERNAME = /\bu'.*'/gs;
const CREDENTIALS = /\/\/[^/\s@]*@/g;

/** The lines of a log that no pattern knows: their number, and the first ones, which differ in more than numbers. */
export class UnreadLines {
  readonly #examples = new Map<string, string>();
  count = 0;
  /** Whether such a line may have been about a client that connected or disconnected. */
  hasClients = false;

  get examples(): readonly string[] {
    return [...this.#examples.values()];
  }

  add(line: string, mayBeOfClient: boolean): void {
    this.count += 1;
    this.hasClients ||= mayBeOfClient;
    if (this.#examples.size === MAX_EXAMPLES) return;
    const text = displayed(line.slice(0, MAX_LENGTH));
    const shape = text.replace(/\d+/g, '0');
    if (!this.#examples.has(shape)) this.#examples.set(shape, text);
  }
}

/** Without user names, credentials and values named like a secret. Control characters are escaped. */
const displayed = (line: string): string =>
  line
    .replace(/^\d[\dT:.+-]*Z?: /, '')
    .replace(USERNAME, "u'***'")
    .replace(CREDENTIALS, '//***@')
    .replace(SECRET, '$1$2***')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
      JSON.stringify(character)
        .slice(1, -1)
        .replace(/^[^\\]$/, hex),
    )
    .toWellFormed();

const hex = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
