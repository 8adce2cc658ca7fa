/** Names shown with a note; how many more there are is said. */
const MAX_NAMES = 20;

/** Notes for people, one for each reason, however many names it concerns. */
export class AccessNotes {
  readonly #names = new Map<string, string[]>();

  add(reason: string, name: string): void {
    const names = this.#names.get(reason);
    if (names) names.push(name);
    else this.#names.set(reason, [name]);
  }

  /** In the order in which the reasons came up. */
  texts(): string[] {
    return [...this.#names].map(([reason, names]) => {
      const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
      return `${reason}: ${names.slice(0, MAX_NAMES).join(', ')}${more}.`;
    });
  }
}
