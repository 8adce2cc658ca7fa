interface Parsed {
  readonly value: unknown;
  /** `null` if the text is JSON. */
  readonly problem: string | null;
}

export function jsonOf(text: string): Parsed {
  try {
    return { value: JSON.parse(text), problem: null };
  } catch (error) {
    return { value: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
