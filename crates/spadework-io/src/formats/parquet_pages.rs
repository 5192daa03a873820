//! Pages of a Parquet column, with checks of everything that the decoder trusts and would panic on.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

/// Whether the pages of a column lie in the file at all, and unpack to a number of bytes.
pub(super) fn check_chunk(chunk: Option<&ColumnChunkMetaData>, file_bytes: u64) -> Result<()> {
    if chunk.is_some_and(|chunk| chunk.uncompressed_size() < 0) {
        return Err(ParquetError::General("a column unpacks to a negative number of bytes".to_owned()));
    }
    let range = chunk.and_then(|chunk| {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        Some((u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?))
    });
    match range.and_then(|(start, length)| start.checked_add(length)) {
        Some(end) if end <= file_bytes => Ok(()),
        _ => Err(ParquetError::General("a column lies outside the file".to_owned())),
    }
}

/// Passes pages on, or says what is wrong with them.
pub(super) struct CheckedPages<'a> {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
    /// Told of the values of all pages so far before they are decoded: one list may have all values of a column.
    within_limit: Box<dyn Fn(usize) -> Result<()> + Send + 'a>,
    values: usize,
}

impl<'a> CheckedPages<'a> {
    pub(super) fn new(
        pages: Box<dyn PageReader>,
        within_limit: impl Fn(usize) -> Result<()> + Send + 'a,
    ) -> Self {
        Self { pages, has_dictionary: false, within_limit: Box::new(within_limit), values: 0 }
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let refuse = |reason: &str| Err(ParquetError::General(reason.to_owned()));
        match page {
            Page::DictionaryPage { .. } => self.has_dictionary = true,
            Page::DataPage { def_level_encoding, rep_level_encoding, .. } => {
                if !is_level_encoding(*def_level_encoding) || !is_level_encoding(*rep_level_encoding) {
                    return refuse("a page has levels of an encoding that levels cannot have");
                }
            }
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                if levels > buf.len() as u64 {
                    return refuse("a page has more bytes of levels than bytes");
                }
            }
        }
        if !matches!(page, Page::DictionaryPage { .. }) {
            self.values = self.values.saturating_add(page.num_values() as usize);
            (self.within_limit)(self.values)?;
        }
        if needs_dictionary(page) && !self.has_dictionary {
            return refuse("a page refers to a dictionary that the column does not have");
        }
        Ok(())
    }
}

fn needs_dictionary(page: &Page) -> bool {
    !matches!(page, Page::DictionaryPage { .. })
        && matches!(page.encoding(), Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY)
}

fn is_level_encoding(encoding: Encoding) -> bool {
    #[expect(deprecated, reason = "old files still have it")]
    let packed = Encoding::BIT_PACKED;
    encoding == Encoding::RLE || encoding == packed
}

impl PageReader for CheckedPages<'_> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for CheckedPages<'_> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::Type as Physical;
    use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};

    use super::*;

    fn chunk(offset: i64, compressed: i64, unpacked: i64) -> ColumnChunkMetaData {
        let numbers = Type::primitive_type_builder("x", Physical::DOUBLE).build().unwrap();
        let column = ColumnDescriptor::new(Arc::new(numbers), 0, 0, ColumnPath::from("x"));
        ColumnChunkMetaData::builder(Arc::new(column))
            .set_data_page_offset(offset)
            .set_total_compressed_size(compressed)
            .set_total_uncompressed_size(unpacked)
            .build()
            .unwrap()
    }

    #[test]
    fn columns_of_forged_sizes_are_refused() {
        assert!(check_chunk(Some(&chunk(4, 96, 200)), 100).is_ok());
        for (offset, compressed, unpacked) in
            [(4, 97, 200), (4, -1, 200), (-4, 50, 200), (i64::MAX, i64::MAX, 200), (4, 96, -1)]
        {
            assert!(check_chunk(Some(&chunk(offset, compressed, unpacked)), 100).is_err());
        }
        assert!(check_chunk(None, 100).is_err());
    }
}
