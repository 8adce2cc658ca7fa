import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface PlotOptions {
  /** Colours of the lines. They are read at each drawing, because the colour scheme may change. */
  readonly colours: () => readonly string[];
  readonly textColour: () => string;
  readonly timeText: (time: number) => string;
  readonly numberText: (number: number) => string;
  /** Called with the index of the values that the pointer is at; `null` if it is at none. */
  readonly onPoint: (index: number | null) => void;
}

interface Plot {
  /** Times in seconds, then the values of each line. */
  update(data: PlotData): void;
  close(): void;
}

export type PlotData = [times: number[], ...values: (number | null)[][]];

const HEIGHT = 170;
const TIMES_APART = 110;

/** Draws lines over time in an element, as wide as the element. */
export function startPlot(element: HTMLElement, data: PlotData, options: PlotOptions): Plot {
  const { colours, textColour, timeText, numberText, onPoint } = options;
  const faint = { stroke: '#8883', width: 1 };
  const axis = { stroke: textColour, grid: faint, ticks: { show: false }, font: '12px system-ui' };
  const plot = new UPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      // All charts show the same moment.
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, sync: { key: 'moment' } },
      hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? null)] },
      scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 28,
          space: TIMES_APART,
          values: (_plot, times) => times.map((time) => timeText(time * 1_000)),
        },
        { ...axis, size: 64, values: (_plot, values) => values.map(numberText) },
      ],
      series: [
        {},
        ...data.slice(1).map((_values, index) => ({
          stroke: () => colours()[index] ?? '#888',
          width: 1.5,
          spanGaps: false,
          points: { show: false },
        })),
      ],
    },
    data,
    element,
  );
  const sizes = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  sizes.observe(element);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => plot.redraw();
  scheme.addEventListener('change', draw);
  return {
    update: (next) => plot.setData(next),
    close: () => {
      sizes.disconnect();
      scheme.removeEventListener('change', draw);
      plot.destroy();
    },
  };
}
