import { useId } from 'react';
import { useTexts } from '../texts/texts.ts';
import { type Fact, Facts } from '../ui/facts.tsx';

interface CardProps {
  readonly title: string;
  /** Those that are `null` are unknown. */
  readonly facts: readonly Fact[];
  /** Shown if there are no facts. */
  readonly none?: string;
}

/** Some values with a heading. */
export function Card({ title, facts, none }: CardProps) {
  const text = useTexts();
  const heading = useId();
  return (
    <section aria-labelledby={heading} className="card client-card">
      <h3 id={heading}>{title}</h3>
      {facts.length === 0 && <p className="quiet">{none}</p>}
      <Facts
        facts={facts.map(([name, value]) => [
          name,
          value ?? (
            <span key={name} className="quiet">
              {text('unknown')}
            </span>
          ),
        ])}
      />
    </section>
  );
}
