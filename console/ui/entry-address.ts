const SECOND_MS = 1_000;

/** The address of the audit of a project with one entry: its operation at its time. */
export function entryAddress(
  projectId: string,
  { operation, at }: { readonly operation: string; readonly at: string },
) {
  const to = new Date(Date.parse(at) + SECOND_MS).toISOString();
  return `/projects/${projectId}/audit?${new URLSearchParams({ operation, from: at, to })}`;
}
