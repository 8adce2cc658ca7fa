import type { ReactNode } from 'react';

export type Fact = readonly [title: string, value: ReactNode];

interface FactsProps {
  readonly facts: readonly Fact[];
  /** Further titles and values. */
  readonly children?: ReactNode;
}

/** Values with their titles. Those that are `null`, `false` or empty are not shown. */
export function Facts({ facts, children }: FactsProps) {
  return (
    <dl className="facts">
      {facts.map(
        ([title, value], nth) =>
          value != null &&
          value !== '' &&
          value !== false && (
            <div key={`${nth} ${title}`}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
      {children}
    </dl>
  );
}
