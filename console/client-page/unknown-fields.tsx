import { useTexts } from '../texts/texts.ts';
import type { ClientNumbers } from './operations.ts';
import { clientTexts } from './texts.ts';

/** Why some values are unknown, and what would change that. */
export function UnknownFields({ fields }: { readonly fields: NonNullable<ClientNumbers['unknownFields']> }) {
  const text = useTexts(clientTexts);
  const byReason = new Map<string, string[]>();
  for (const { field, reason } of fields) byReason.set(reason, [...(byReason.get(reason) ?? []), field]);
  if (byReason.size === 0) return null;
  return (
    <details>
      <summary>{text('whyUnknown')}</summary>
      <dl>
        {[...byReason].map(([reason, names]) => [
          <dt key={reason}>{names.join(', ')}</dt>,
          <dd key={`${reason} text`} lang="en">
            {reason}
          </dd>,
        ])}
      </dl>
    </details>
  );
}
