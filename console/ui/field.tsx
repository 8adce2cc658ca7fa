import type { ReactNode } from 'react';

interface FieldProps {
  readonly label: string;
  /** What the value means, or which are allowed. */
  readonly hint?: string | undefined;
  readonly children: ReactNode;
}

/** An input with its label. */
export function Field({ label, hint, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the child is the input
    <label className="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}
