import { useId } from 'react';

interface SegmentsProps<T extends string> {
  legend: string;
  choices: readonly (readonly [value: T, text: string])[];
  value: T;
  set: (value: T) => void;
}

/** One of a few, all in sight. */
export function Segments<T extends string>({ legend, choices, value, set }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className="field">
      <legend>{legend}</legend>
      <div className="row">
        <div className="segments">
          {choices.map(([each, text]) => (
            <label key={each}>
              <input type="radio" name={name} checked={each === value} onChange={() => set(each)} />
              {text}
            </label>
          ))}
        </div>
      </div>
    </fieldset>
  );
}
