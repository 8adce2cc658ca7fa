import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import type { Mark } from './line.ts';
import type { PlotShape } from './plot.tsx';
import { chartTexts } from './texts.ts';
import { useTimeTexts } from './time-texts.ts';

interface MarkLinksProps {
  readonly marks: readonly Mark[];
  readonly shape: PlotShape;
}

/** Closer marks have one sign, which leads to the first of them. */
const APART = 20;
const SHOWN = 5;

/** The signs of marks at the top of their lines. Each shows what happened when it is pointed at, and leads to it. */
export function MarkLinks({ marks, shape: { left, width, scale } }: MarkLinksProps) {
  const text = useTexts(chartTexts);
  const times = useTimeTexts();
  const groups: { readonly x: number; readonly marks: Mark[] }[] = [];
  for (const mark of [...marks].sort((a, b) => a.at - b.at)) {
    const x = scale.x(mark.at);
    if (x < 0 || x > width) continue;
    const last = groups.at(-1);
    if (last !== undefined && x - last.x < APART) last.marks.push(mark);
    else groups.push({ x, marks: [mark] });
  }
  return groups.map(({ x, marks: together }) => {
    const lines = together.slice(0, SHOWN).map(({ at, text: what }) => `${times.moment(at, 0)}: ${what}`);
    if (together.length > SHOWN) lines.push(text('furtherMarks', { count: together.length - SHOWN }));
    const [first] = together;
    const sign = together.length > 1 ? together.length : '';
    const shared = {
      // The list of marks has the same links for the keyboard, once for all charts.
      tabIndex: -1,
      className: 'mark-sign',
      title: lines.join('\n'),
      'aria-label': [...(sign === '' ? [] : [sign]), ...lines].join('; '),
      style: { insetInlineStart: `${left + x}px` },
    };
    return first?.address == null ? (
      <span key={first?.key} role="img" {...shared}>
        {sign}
      </span>
    ) : (
      <Link key={first.key} href={first.address} {...shared}>
        {sign}
      </Link>
    );
  });
}
