import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import type { PlotShape } from './plot.tsx';
import { type Span, zoomed } from './range.ts';

interface PlotInputOptions {
  readonly span: Span;
  readonly stepMs: number;
  readonly shape: PlotShape;
  /** The time that the crosshair shows; `null`: none. */
  readonly point: number | null;
  readonly onPoint: (time: number | null) => void;
  readonly onZoom: (span: Span) => void;
}

/** A shorter movement is a click. */
const DRAG_PIXELS = 6;
const FAR = 10;

/** The crosshair and the zoom by pointer and by keys. `selected`: what the pointer is dragged over. */
export function usePlotInput({ span, stepMs, shape, point, onPoint, onZoom }: PlotInputOptions) {
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number } | null>(null);
  const { from, to } = span;
  const timeAt = ({ currentTarget, clientX }: PointerEvent<HTMLElement>) => {
    const x = clientX - currentTarget.getBoundingClientRect().left - shape.left;
    return from + (Math.min(shape.width, Math.max(0, x)) / shape.width) * (to - from);
  };
  const pixels = (length: number) => (Math.abs(length) / (to - from)) * shape.width;
  const move = (time: number) => onPoint(Math.min(to - 1, Math.max(from, time)));
  const last = to - stepMs / 2;
  const keys: Readonly<Record<string, (isFar: boolean) => void>> = {
    ArrowLeft: (isFar) => move((point ?? last + stepMs) - stepMs * (isFar ? FAR : 1)),
    ArrowRight: (isFar) => move((point ?? from - stepMs) + stepMs * (isFar ? FAR : 1)),
    Home: () => move(from + stepMs / 2),
    End: () => move(last),
    '+': () => onZoom(zoomed(span, 0.5, point ?? (from + to) / 2)),
    '-': () => onZoom(zoomed(span, 2, point ?? (from + to) / 2)),
    PageUp: () => onZoom({ from: from - (to - from) / 2, to: to - (to - from) / 2 }),
    PageDown: () => onZoom({ from: from + (to - from) / 2, to: to + (to - from) / 2 }),
    Escape: () => onPoint(null),
  };
  return {
    selected: drag !== null && pixels(drag.to - drag.from) >= DRAG_PIXELS ? drag : null,
    handlers: {
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const time = timeAt(event);
        setDrag({ from: time, to: time });
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        const time = timeAt(event);
        onPoint(time);
        if (drag !== null) setDrag({ ...drag, to: time });
      },
      onPointerUp: () => {
        setDrag(null);
        if (drag === null || pixels(drag.to - drag.from) < DRAG_PIXELS) return;
        onZoom({ from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) });
      },
      onPointerCancel: () => setDrag(null),
      onPointerLeave: () => onPoint(null),
      onDoubleClick: () => onZoom(zoomed(span, 2, (from + to) / 2)),
      onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
        const run = keys[event.key === '=' ? '+' : event.key];
        if (run === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        run(event.shiftKey);
      },
    },
  };
}
