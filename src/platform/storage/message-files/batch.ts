export const diskFailure = (error: unknown): string => `The disk failed: ${reasonOf(error)}`;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
