const MAX_NAMES = 20;

export class AccessNotes {
  readonly #names = new Map<string, string[]>();

  add(reason: string, name: string): void {
    const names = this.#names.get(reason);
    if (names) names.push(name);
    else this.#names.set(reason, [name]);
  }

  texts(): string[] {
    return [...this.#names].map(([reason, names]) => {
      const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
      return `${reason}: ${names.slice(0, MAX_NAMES).join(', ')}${more}.`;
    });
  }
}
