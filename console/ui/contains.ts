/** Whether one of the texts contains what was typed, in upper or lower case. Nothing typed: yes. */
export const contains = (typed: string, texts: readonly (string | null | undefined)[]): boolean =>
  texts.some((text) => (text ?? '').toLowerCase().includes(typed.trim().toLowerCase()));
