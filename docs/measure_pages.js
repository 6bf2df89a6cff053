// What measure_pages.py asks of each chapter: how its height is shared out, and what does not fit.
() => {
  const article = document.querySelector('article.bd-article');
  const OUTPUT = '.cell_output';
  const CODE = 'div.highlight, .literal-block-wrapper';
  const FIGURE = 'img, svg, figure';
  const heights = {prose: 0, code: 0, output: 0, figure: 0};
  const kindOf = element => {
    if (element.matches(FIGURE)) return 'figure';
    if (element.closest(OUTPUT)) return 'output';
    return element.matches(CODE) ? 'code' : null;
  };
  // The outermost boxes of code, outputs and figures; what is left of the article's height is prose.
  const collect = element => {
    if (!element.checkVisibility()) return;
    const kind = kindOf(element);
    if (kind && !(kind === 'output' && element.querySelector(FIGURE))) {
      heights[kind] += element.getBoundingClientRect().height;
      return;
    }
    for (const child of element.children) collect(child);
  };
  collect(article);
  const total = article.getBoundingClientRect().height;
  heights.prose = total - heights.code - heights.output - heights.figure;

  const copy = article.cloneNode(true);
  for (const box of copy.querySelectorAll('pre, img, svg, script, style, mjx-container, .headerlink, .cell_output')) {
    box.remove();
  }
  const boxes = [...article.querySelectorAll('pre')].filter(box => box.checkVisibility());
  const figures = [...article.querySelectorAll('.cell_output img, .cell_output svg, figure img, figure svg')]
    .filter(figure => !figure.closest('button'));
  return {
    words: copy.textContent.split(/\s+/).filter(word => /\w/.test(word)).length,
    lines: boxes.reduce((sum, box) => sum + box.textContent.trimEnd().split('\n').length, 0),
    total, heights,
    boxes: boxes.length,
    cut: boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => {
      const lines = box.textContent.split('\n');
      return lines.reduce((wide, line) => line.length > wide.length ? line : wide, '');
    }),
    figures: figures.length,
    captioned: figures.filter(figure => figure.closest('figure')?.querySelector('figcaption')).length,
  };
}
