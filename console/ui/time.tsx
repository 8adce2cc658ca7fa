import { useTimes } from '../texts/texts.ts';

/** A moment in the zone of the viewer; the exact one in a tooltip. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  const timeOf = useTimes();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={at}>
      {timeOf(at)}
    </time>
  );
}
