import type { ReactNode } from 'react';
import { useTexts } from '../texts/texts.ts';

/** What deletes the subject of a screen, apart from what changes it. */
export function DangerZone({ children }: { readonly children: ReactNode }) {
  const text = useTexts();
  return (
    <section className="card danger-zone" aria-label={text('dangerZone')}>
      <h2>{text('dangerZone')}</h2>
      {children}
    </section>
  );
}
