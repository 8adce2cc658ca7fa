import { type ReactNode, useId } from 'react';
import { useTexts } from '../texts/texts.ts';

/** A title and a value, which is `null` if it is unknown. */
export type Fact = readonly [string, ReactNode];

interface CardProps {
  readonly title: string;
  readonly facts: readonly Fact[];
  /** Shown if there are no facts. */
  readonly none?: string;
}

/** Some values with a heading. */
export function Card({ title, facts, none }: CardProps) {
  const text = useTexts();
  const heading = useId();
  return (
    <section aria-labelledby={heading} className="client-card">
      <h3 id={heading}>{title}</h3>
      {facts.length === 0 && <p className="quiet">{none}</p>}
      <dl>
        {facts.map(([name, value]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} value`}>{value ?? <span className="quiet">{text('unknown')}</span>}</dd>,
        ])}
      </dl>
    </section>
  );
}
