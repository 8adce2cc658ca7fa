import { useEffect, useRef } from 'react';

interface JsonEditorProps {
  readonly label: string;
  /** The text at first; later only the editor changes it. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** An editor of JSON text, which is loaded when it is first shown. */
export function JsonEditor({ label, value, onChange }: JsonEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    let close: (() => void) | null = null;
    let isWanted = true;
    const open = async () => {
      const { openEditor } = await import('./code-mirror.ts');
      if (isWanted && place.current) close = openEditor(place.current, label, value, (text) => change.current(text));
    };
    void open();
    return () => {
      isWanted = false;
      close?.();
    };
  }, []);
  return <div ref={place} className="json-editor" />;
}
