import { useTexts } from '../texts/texts.ts';

/** Whether what is shown follows its source, or has the last known values. */
export function LiveMark({ isLive }: { readonly isLive: boolean }) {
  const text = useTexts();
  return <span className={isLive ? 'live' : 'stale'}>{text(isLive ? 'live' : 'notLive')}</span>;
}
